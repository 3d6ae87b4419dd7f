package summarize

import "github.com/sessctl/sessctl/pkg/secrets"

// Redacted stands where something looked like a secret.
const Redacted = secrets.Mark

// redact replaces what looks like a secret. It is for summaries; archives
// keep every byte.
func redact(text string) string {
	clean, _ := secrets.Redact(text)
	return clean
}
