package steps

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// Readable reports whether the messages of an archive can be told apart: it is
// no output of a tool and no database, and its runtime is known.
func Readable(a *workspace.Settings, e archive.Entry) bool {
	kind := session.Kind(e.Kind)
	return kind != session.KindOutput && kind != session.KindDatabase && workspace.ReaderOf(a, e.Runtime) != nil
}

// ReadableLog is a log whose messages can be read: an archived or a live one.
type ReadableLog struct {
	Name   string // for errors
	Reader session.Store
	Bytes  int64
	Open   func(context.Context) (io.ReadCloser, error) // as it is stored: from its beginning, every time
}

// ReadableMessage is a message as people read it: who said it and where, and what
// was said, indented, without the secrets of its session unless redact is nil. No line
// of it does anything to a terminal.
func ReadableMessage(m *session.Message, redact *secrets.Session) (heading string, lines []string) {
	said := m.AppendText(nil)
	if redact != nil {
		said, _ = redact.RedactBytes(said)
	}
	text := strings.TrimRight(wording.VisibleText(string(said)), "\n")
	if text == "" {
		text = "(nothing to read: archives show --raw has the record)"
	}
	if m.CutBytes > 0 {
		text += fmt.Sprintf("\n[%s of this line are not shown: archives show --raw --lines %d-%d has them]", wording.Bytes(m.CutBytes), m.Line, m.Line)
	}
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.TrimRight("  "+line, " "))
	}
	return wording.Visible(MessageHeading(m)), lines
}

// LearnSecrets takes in the secrets of a message, for the other messages of its session.
func LearnSecrets(known *secrets.Session, m *session.Message) {
	known.Learn(m.AppendText(nil))
	for i := range m.Parts {
		known.Learn(m.Parts[i].Text)
	}
}

// MessageHeading says who speaks, where it stands and when it was said.
func MessageHeading(m *session.Message) string {
	who := strings.Trim(m.Label(), "[]")
	if len(m.ToolName) > 0 {
		who += " " + string(m.ToolName)
	}
	if m.IsError {
		who += ", failed"
	}
	if m.Branch == session.Abandoned {
		who += ", abandoned branch"
	}
	line := fmt.Sprintf("%s  line %d", who, m.Line)
	if m.Time > 0 {
		line += "  " + time.UnixMilli(m.Time).Local().Format("2006-01-02 15:04")
	}
	return line
}
