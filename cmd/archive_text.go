package cmd

import (
	"context"
	"io"
	"strings"

	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// archivedText prints the messages of an archived log for a reader: who said
// what, when, and in which line. What was said is indented, so that no line of
// it can be taken for a heading.
type archivedText struct {
	app     *app
	out     io.Writer
	lines   steps.LineRange
	heading func(...string) string
	// thinking says that what models thought is wanted too.
	thinking bool
	redact   *secrets.Session // masks what looks like a secret; nil for not
	shown    int              // messages
	last     int              // lines of the log
}

func newArchivedText(a *app, out io.Writer, lines steps.LineRange, redact bool) *archivedText {
	t := &archivedText{app: a, out: out, lines: lines, heading: a.renderer().NewStyle().Bold(true).Render}
	if redact {
		t.redact = secrets.NewSession()
	}
	return t
}

// print prints the messages.
func (t *archivedText) print(ctx context.Context, store *archive.Store, e archive.Entry) error {
	return t.each(ctx, store, e, t.message)
}

// each hands out the messages of an archive.
func (t *archivedText) each(ctx context.Context, store *archive.Store, e archive.Entry, emit func(*session.Message) error) error {
	return t.eachOf(ctx, steps.ReadableLog{
		Name: "archive " + e.ID, Reader: workspace.ReaderOf(&t.app.Run.Settings, e.Runtime), Bytes: e.Bytes,
		Open: func(ctx context.Context) (io.ReadCloser, error) { return store.OpenEntry(ctx, e) },
	}, emit)
}

// eachOf hands out the messages of a log. It reads the log twice: the first time
// tells which messages were said on a branch that was left, and which secrets are to be
// masked wherever they stand.
func (t *archivedText) eachOf(ctx context.Context, log steps.ReadableLog, emit func(*session.Message) error) error {
	var tree *session.Tree
	for _, emit := range []func(*session.Message) error{t.learn, emit} {
		scan, err := steps.ScanReadable(ctx, log, session.ScanOptions{Tree: tree, Thinking: t.thinking}, emit)
		if err != nil {
			return err
		}
		if t.last = scan.Counts.Lines; scan.Tree != nil && scan.Tree.Forked() {
			tree = scan.Tree
		}
		if t.lines.First > t.last {
			return t.lines.Beyond(t.last)
		}
	}
	return nil
}

func (t *archivedText) learn(m *session.Message) error {
	if t.redact != nil {
		steps.LearnSecrets(t.redact, m)
	}
	return nil
}

func (t *archivedText) message(m *session.Message) error {
	if m.Line < t.lines.First || t.lines.Last > 0 && m.Line > t.lines.Last {
		return nil
	}
	t.shown++
	heading, lines := steps.ReadableMessage(m, t.redact)
	_, err := t.out.Write([]byte(t.heading(heading) + "\n" + strings.Join(lines, "\n") + "\n\n"))
	return err
}

// told says what is odd about the lines that were asked for.
func (t *archivedText) told() {
	t.lines.TellEnd(t.app.Run, t.last)
	if t.shown == 0 {
		t.app.Notice(workspace.Note{Message: "these lines contain no message", Hint: "--raw shows them"})
	}
}
