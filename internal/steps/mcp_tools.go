package steps

import "github.com/sessctl/sessctl/pkg/session"

// Quoted puts text between the marks that say what it is.
func Quoted(text string) string {
	return session.RecallBegin + "\n\n" + text + session.RecallEnd
}
