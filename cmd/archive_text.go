package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// archivedText prints the messages of an archived log for a reader: who said
// what, when, and in which line. What was said is indented, so that no line of
// it can be taken for a heading.
type archivedText struct {
	app     *app
	out     io.Writer
	lines   lineRange
	heading func(...string) string
	// thinking says that what models thought is wanted too.
	thinking bool
	redact   bool // mask what looks like a secret
	shown    int  // messages
	last     int  // lines of the log
}

// readable reports whether the messages of an archive can be told apart: it is
// no output of a tool, and its runtime is known.
func (a *settings) readable(e archive.Entry) bool {
	return session.Kind(e.Kind) != session.KindOutput && a.readerOf(e.Runtime) != nil
}

func (a *app) newArchivedText(out io.Writer, lines lineRange) *archivedText {
	return &archivedText{app: a, out: out, lines: lines, heading: a.renderer().NewStyle().Bold(true).Render}
}

// print prints the messages.
func (t *archivedText) print(ctx context.Context, store *archive.Store, e archive.Entry) error {
	return t.each(ctx, store, e, t.message)
}

// each hands out the messages of an archive.
func (t *archivedText) each(ctx context.Context, store *archive.Store, e archive.Entry, emit func(*session.Message) error) error {
	return t.eachOf(ctx, readableLog{
		name: "archive " + e.ID, reader: t.app.readerOf(e.Runtime), bytes: e.Bytes,
		open: func(ctx context.Context) (io.ReadCloser, error) { return store.OpenEntry(ctx, e) },
	}, emit)
}

// readableLog is a log whose messages can be read: an archived or a live one.
type readableLog struct {
	name   string // for errors
	reader session.Store
	bytes  int64
	open   func(context.Context) (io.ReadCloser, error) // as it is stored: from its beginning, every time
}

// eachOf hands out the messages of a log. It reads the log twice: the first time
// tells which messages were said on a branch that was left.
func (t *archivedText) eachOf(ctx context.Context, log readableLog, emit func(*session.Message) error) error {
	var tree *session.Tree
	for _, emit := range []func(*session.Message) error{func(*session.Message) error { return nil }, emit} {
		scan, err := t.scan(ctx, log, session.ScanOptions{Tree: tree, Thinking: t.thinking}, emit)
		if err != nil {
			return err
		}
		if t.last = scan.Counts.Lines; scan.Tree != nil && scan.Tree.Forked() {
			tree = scan.Tree
		}
		if t.lines.first > t.last {
			return t.lines.beyond(t.last)
		}
	}
	return nil
}

func (t *archivedText) scan(ctx context.Context, log readableLog, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	r, err := log.open(ctx)
	if err != nil {
		return session.Scan{}, err
	}
	defer r.Close()
	plain, _, err := jsonl.Decompress(r, log.bytes)
	if err != nil {
		return session.Scan{}, fmt.Errorf("read %s: %w", log.name, err)
	}
	defer plain.Close()
	return log.reader.Scan(ctx, plain, o, emit)
}

func (t *archivedText) message(m *session.Message) error {
	if m.Line < t.lines.first || t.lines.last > 0 && m.Line > t.lines.last {
		return nil
	}
	t.shown++
	heading, lines := readableMessage(m, t.redact)
	_, err := t.out.Write([]byte(t.heading(heading) + "\n" + strings.Join(lines, "\n") + "\n\n"))
	return err
}

// readableMessage is a message as people read it: who said it and where, and what
// was said, indented. No line of it does anything to a terminal.
func readableMessage(m *session.Message, redact bool) (heading string, lines []string) {
	said := m.AppendText(nil)
	if redact {
		said, _ = secrets.RedactBytes(said)
	}
	text := strings.TrimRight(visibleText(string(said)), "\n")
	if text == "" {
		text = "(nothing to read: archive show --raw has the record)"
	}
	if m.CutBytes > 0 {
		text += fmt.Sprintf("\n[%s of this line are not shown: archive show --raw --lines %d-%d has them]", formatBytes(m.CutBytes), m.Line, m.Line)
	}
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.TrimRight("  "+line, " "))
	}
	return visible(messageHeading(m)), lines
}

// messageHeading says who speaks, where it stands and when it was said.
func messageHeading(m *session.Message) string {
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

// told says what is odd about the lines that were asked for.
func (t *archivedText) told() {
	t.lines.tellEnd(t.app.invocation, t.last)
	if t.shown == 0 {
		t.app.notice(note{Message: "these lines contain no message", Hint: "--raw shows them"})
	}
}
