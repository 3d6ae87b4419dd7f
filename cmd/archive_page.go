package cmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/pages"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/sessctl/sessctl/pkg/session"
)

// keptPage is what --html means without a file.
const keptPage = "<data>/pages/<archive>.html"

// showPages writes an archived session as pages: into a file that was named, or
// where recall finds them.
func showPages(ctx context.Context, a *app, store *archive.Store, entry archive.Entry, o steps.ShowOptions) error {
	if !steps.Readable(&a.Run.Settings, entry) {
		return failure.Usage("sessctl archives show "+entry.ID+" --raw prints it", "archive %s is not a log of messages that can be read", entry.ID)
	}
	w := pageWriter{app: a, entry: entry, text: newArchivedText(a, io.Discard, steps.LineRange{}, o.Redact)}
	w.text.thinking = true
	if o.HTML == keptPage {
		return w.keep(ctx, store)
	}
	if o.HTML == "-" {
		return w.print(ctx, store)
	}
	path := workspace.Absolute(o.HTML)
	if !strings.HasSuffix(path, ".html") {
		return failure.Usage("write "+o.HTML+".html", "--html: the name of a page ends in .html")
	}
	if err := pages.CheckPage(path); err != nil {
		return err
	}
	return w.write(ctx, store, path, func(name string, write func(io.Writer) error) error {
		return pages.WritePage(filepath.Join(filepath.Dir(path), name), write)
	})
}

// pageWriter turns messages into pages.
type pageWriter struct {
	*app
	entry    archive.Entry
	text     *archivedText // that is set as pages
	pages    *report.Pages
	messages int
	masked   int
}

// keep writes the pages to where recall finds them. Pages of before give way.
func (w *pageWriter) keep(ctx context.Context, store *archive.Store) error {
	work, err := workspace.Open(ctx, w.app.Run, workspace.Mode{Reason: "archive"})
	if err != nil {
		return err
	}
	defer work.Close()
	if err := w.Pins.MakeDir(w.PagesDir(), 0o700); err != nil {
		return fmt.Errorf("make the directory of pages: %w", err)
	}
	if err := pages.RemovePages(w.app.Run, w.entry.ID); err != nil {
		return err
	}
	return w.write(ctx, store, filepath.Join(w.PagesDir(), w.entry.ID+".html"), func(name string, write func(io.Writer) error) error {
		return w.Pins.ReplaceFile(filepath.Join(w.PagesDir(), name), 0o600, write)
	})
}

// print writes the pages to stdout as one.
func (w *pageWriter) print(ctx context.Context, store *archive.Store) error {
	const whole = 1 << 40 // bytes: no second page
	_, err := w.fill(ctx, store, "session.html", whole, func(_ string, write func(io.Writer) error) error { return write(w.Out) })
	return err
}

// write writes the pages, and says where they are.
func (w *pageWriter) write(ctx context.Context, store *archive.Store, path string, write func(name string, write func(io.Writer) error) error) error {
	ranges, err := w.fill(ctx, store, filepath.Base(path), 0, write)
	if err != nil {
		return err
	}
	doc := pages.PageDocument{Schema: 1, Archive: steps.NewArchiveRow(w.entry), Path: path, URL: recall.FileURL(path), Messages: w.messages, Masked: w.masked, Pages: []pages.PageRow{}}
	for _, r := range ranges {
		doc.Pages = append(doc.Pages, pages.PageRow{Path: filepath.Join(filepath.Dir(path), r.Name), FirstLine: r.First, LastLine: r.Last})
	}
	if w.JSON {
		return w.printJSON(doc)
	}
	if len(doc.Pages) > 1 {
		w.Notice(workspace.Note{Message: fmt.Sprintf("%s on %s; the first leads to the others", wording.Plural(doc.Messages, "message"), wording.Plural(len(doc.Pages), "page"))})
	}
	_, err = fmt.Fprintln(w.Out, doc.URL)
	return err
}

// fill reads the archive into pages, of which the first has this name.
func (w *pageWriter) fill(ctx context.Context, store *archive.Store, name string, limit int, write func(name string, write func(io.Writer) error) error) ([]report.Range, error) {
	e := w.entry
	head := report.Head{
		Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Key: e.Key, Archive: e.ID, Source: w.Tilde(e.Source),
		CreatedAt: wording.StampText(e.CreatedAt), Bytes: e.Bytes, Lines: e.Lines, Redacted: w.text.redact != nil,
	}
	var err error
	if w.pages, err = report.NewPages(name, head, limit, time.Local, write); err != nil {
		return nil, err
	}
	if err := w.text.each(ctx, store, e, w.message); err != nil {
		return nil, err
	}
	return w.pages.Close()
}

// message adds one message to the pages.
func (w *pageWriter) message(m *session.Message) error {
	w.messages++
	out := report.Message{
		Line: m.Line, LastLine: m.LastLine, Role: m.Role.String(), Label: strings.Trim(m.Label(), "[]"), Tool: w.clean(m.ToolName),
		Failed: m.IsError, Abandoned: m.Branch == session.Abandoned, CutBytes: m.CutBytes,
	}
	if m.Time > 0 {
		out.Time = wording.StampText(time.UnixMilli(m.Time))
	}
	if m.HasExit && m.ExitCode != 0 {
		out.Exit = strconv.Itoa(m.ExitCode)
	}
	if m.IsError {
		out.Error = w.clean(m.ErrorText)
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		out.Parts = append(out.Parts, report.Part{Kind: pages.PagePart(p.Kind), Name: w.clean(p.Name), Text: w.clean(p.Text), Size: p.Size})
	}
	return w.pages.Add(out)
}

// clean is text of a message, without what looks like a secret if that was asked
// for.
func (w *pageWriter) clean(text []byte) string {
	if w.text.redact == nil {
		return string(text)
	}
	clean, n := w.text.redact.RedactBytes(text)
	w.masked += n
	return string(clean)
}
