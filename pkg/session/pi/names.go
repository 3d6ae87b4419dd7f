package pi

import (
	"regexp"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// rotatedMark is between the name of a log and the time when it was rotated.
const rotatedMark = ".rotated."

// stampForm is that time, in UTC.
const stampForm = "2006-01-02T15-04-05.000Z"

var rotatedName = regexp.MustCompile(`^(.+\.jsonl)\.rotated\.\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z$`)

// logName is what the name of a file in a directory of sessions says.
type logName struct {
	name    string
	live    string // the name that it has, or had, as a log
	rotated bool   // moved aside by Rotate, and not settled yet
}

// parseName reads a name by the allow-list: "<safe id>.jsonl", which is all
// that pi reads, and what Rotate makes of it. odd is true for a log whose name
// is not safe.
func parseName(name string) (n logName, ok, odd bool) {
	n = logName{name: name, live: name}
	if strings.Contains(name, rotatedMark) {
		if m := rotatedName.FindStringSubmatch(name); m != nil {
			n.live, n.rotated = m[1], true
		}
	}
	stem, isLog := strings.CutSuffix(n.live, logEnd)
	if !isLog || strings.HasPrefix(name, ".") {
		return logName{}, false, false
	}
	if !session.SafeID(stem) {
		return logName{}, false, true
	}
	return n, true, false
}

// id is the session's id by its file name.
func (n logName) id() string { return strings.TrimSuffix(n.live, logEnd) }

// agentOf makes an agent's id of the name of a directory: the working
// directory's path with dashes, without the two dashes at each end.
func agentOf(directory string) string {
	name := strings.TrimPrefix(directory, "--")
	name = strings.TrimSuffix(name, "--")
	return session.CleanID(name)
}
