package work

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// maxTool bounds the name of a tool, in runes.
const maxTool = 100

// cleaned is a text as an action has it.
type cleaned struct {
	text     string
	redacted int
}

// beyond is how many bytes of a text are looked at behind those that are kept,
// so that a secret is known that begins before the cut.
const beyond = 8 << 10

// clean makes text fit to be kept: readable, without secrets, and of so many
// runes at most. It leaves text itself as it is.
func clean(text []byte, runes int) cleaned {
	text = bytes.TrimSpace(text)
	if most := runes*utf8.UTFMax + beyond; len(text) > most {
		text = bytes.ToValidUTF8(text[:most], nil)
	}
	safe, redacted := readable(text)
	return cleaned{text: cutRunes(strings.TrimSpace(string(safe)), runes), redacted: redacted}
}

// readable is a copy of a text that is UTF-8, without control characters and
// with a mark for each secret.
func readable(text []byte) (safe []byte, redacted int) {
	own, _ := session.Clean(bytes.ToValidUTF8(text, []byte("\uFFFD")))
	return secrets.RedactBytes(own)
}

// cutRunes cuts a text to so many runes; an ellipsis is the last one of a text
// that was cut.
func cutRunes(text string, runes int) string {
	if len(text) <= runes {
		return text
	}
	n := 0
	last := 0 // where the rune begins that becomes the ellipsis
	for i := range text {
		if n++; n == runes {
			last = i
		}
		if n > runes {
			return text[:last] + "…"
		}
	}
	return text
}

// joined returns a directory that a call names, below the one it was made in
// if it is relative.
func joined(base, named string) string {
	switch {
	case named == "":
		return base
	case base == "" || absolute(named):
		return named
	}
	return path.Join(base, named)
}

// absolute reports whether a path of any system leads from a root or from the
// home directory.
func absolute(name string) bool {
	return name[0] == '/' || name[0] == '~' || name[0] == '\\' || len(name) > 1 && name[1] == ':'
}
