package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// keptPage is what --html means without a file.
const keptPage = "<data>/pages/<archive>.html"

// pageDocument is `archive show --html --json`.
type pageDocument struct {
	Schema   int        `json:"schema"`
	Archive  archiveRow `json:"archive"`
	Path     string     `json:"path"`     // of the first page
	URL      string     `json:"url"`      // the same, for a browser
	Messages int        `json:"messages"` // on all pages
	Masked   int        `json:"masked"`   // what looked like a secret, with --redact
	Pages    []pageRow  `json:"pages"`
}

// pageRow is one page.
type pageRow struct {
	Path      string `json:"path"`
	FirstLine int    `json:"first_line"`
	LastLine  int    `json:"last_line"`
}

// showPages writes an archived session as pages: into a file that was named, or
// where recall finds them.
func (a *app) showPages(ctx context.Context, store *archive.Store, entry archive.Entry, o showOptions) error {
	if !a.readable(entry) {
		return usageError("sessctl archive show "+entry.ID+" --raw prints it", "archive %s is not a log of messages that can be read", entry.ID)
	}
	w := pageWriter{app: a, entry: entry, redact: o.Redact}
	if o.HTML == keptPage {
		return w.keep(ctx, store)
	}
	if o.HTML == "-" {
		return w.print(ctx, store)
	}
	path := absolute(o.HTML)
	if !strings.HasSuffix(path, ".html") {
		return usageError("write "+o.HTML+".html", "--html: the name of a page ends in .html")
	}
	if err := checkPage(path); err != nil {
		return err
	}
	return w.write(ctx, store, path, func(name string, write func(io.Writer) error) error {
		return writePage(filepath.Join(filepath.Dir(path), name), write)
	})
}

// pageWriter turns messages into pages.
type pageWriter struct {
	*app
	entry    archive.Entry
	redact   bool
	pages    *report.Pages
	messages int
	masked   int
}

// keep writes the pages to where recall finds them. Pages of before give way.
func (w *pageWriter) keep(ctx context.Context, store *archive.Store) error {
	work, err := w.openWorkspace(ctx, mode{reason: "archive"})
	if err != nil {
		return err
	}
	defer work.close()
	if err := w.pins.MakeDir(w.pagesDir(), 0o700); err != nil {
		return fmt.Errorf("make the directory of pages: %w", err)
	}
	if err := w.removePages(w.entry.ID); err != nil {
		return err
	}
	return w.write(ctx, store, filepath.Join(w.pagesDir(), w.entry.ID+".html"), func(name string, write func(io.Writer) error) error {
		return w.pins.ReplaceFile(filepath.Join(w.pagesDir(), name), 0o600, write)
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
	doc := pageDocument{Schema: 1, Archive: newArchiveRow(w.entry), Path: path, URL: fileURL(path), Messages: w.messages, Masked: w.masked, Pages: []pageRow{}}
	for _, r := range ranges {
		doc.Pages = append(doc.Pages, pageRow{filepath.Join(filepath.Dir(path), r.Name), r.First, r.Last})
	}
	if w.JSON {
		return w.printJSON(doc)
	}
	if len(doc.Pages) > 1 {
		w.notice(note{Message: fmt.Sprintf("%s on %s; the first leads to the others", plural(doc.Messages, "message"), plural(len(doc.Pages), "page"))})
	}
	_, err = fmt.Fprintln(w.Out, doc.URL)
	return err
}

// fill reads the archive into pages, of which the first has this name.
func (w *pageWriter) fill(ctx context.Context, store *archive.Store, name string, limit int, write func(name string, write func(io.Writer) error) error) ([]report.Range, error) {
	e := w.entry
	head := report.Head{
		Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Key: e.Key, Archive: e.ID, Source: w.tilde(e.Source),
		CreatedAt: stampText(e.CreatedAt), Bytes: e.Bytes, Lines: e.Lines, Redacted: w.redact,
	}
	var err error
	if w.pages, err = report.NewPages(name, head, limit, time.Local, write); err != nil {
		return nil, err
	}
	text := archivedText{app: w.app, thinking: true}
	if err := text.each(ctx, store, e, w.message); err != nil {
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
		out.Time = stampText(time.UnixMilli(m.Time))
	}
	if m.HasExit && m.ExitCode != 0 {
		out.Exit = strconv.Itoa(m.ExitCode)
	}
	if m.IsError {
		out.Error = w.clean(m.ErrorText)
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		out.Parts = append(out.Parts, report.Part{Kind: pagePart(p.Kind), Name: w.clean(p.Name), Text: w.clean(p.Text), Size: p.Size})
	}
	return w.pages.Add(out)
}

// clean is text of a message, without what looks like a secret if that was asked
// for.
func (w *pageWriter) clean(text []byte) string {
	if !w.redact {
		return string(text)
	}
	clean, n := secrets.RedactBytes(text)
	w.masked += n
	return string(clean)
}

func pagePart(kind session.PartKind) report.PartKind {
	switch kind {
	case session.PartThinking:
		return report.PartThinking
	case session.PartToolCall:
		return report.PartCall
	case session.PartImage:
		return report.PartImage
	case session.PartCommand:
		return report.PartCommand
	case session.PartUnsent:
		return report.PartUnsent
	}
	return report.PartText
}

// pagesDir is where pages are kept that recall leads to.
func (a *settings) pagesDir() string { return filepath.Join(a.dataDir(), "pages") }

// pageLinks leads from lines of archives to the pages that are kept.
type pageLinks struct {
	dir   string
	names []string
}

// keptPages are the pages that are kept. That they cannot be listed is no reason
// not to answer without them.
func (a *invocation) keptPages() pageLinks {
	links := pageLinks{dir: a.pagesDir()}
	entries, _ := a.pins.ReadDir(links.dir)
	for _, e := range entries {
		links.names = append(links.names, e.Name())
	}
	return links
}

// of is the address of a line of an archive, or "" where no page of it is kept.
func (l pageLinks) of(id string, line int) string {
	name, begins, whole := "", 0, false
	for _, n := range l.names {
		at, ok := report.PageLine(id+".html", n)
		whole = whole || ok && n == id+".html"
		if ok && (at <= line || n == id+".html") && at > begins {
			name, begins = n, at
		}
	}
	if !whole || id == "" { // the first page is written last
		return ""
	}
	return fileURL(filepath.Join(l.dir, name)) + "#L" + strconv.Itoa(line)
}

// pageOwner is the archive whose page a file is, or "".
func pageOwner(name string) string {
	id, isPage := strings.CutSuffix(name, ".html")
	if !isPage {
		return ""
	}
	id, _, _ = strings.Cut(id, "-L")
	return id
}

// removePages removes the kept pages of archives. The first page goes first: what
// is left of a removal that was cut off is never led to.
func (a *invocation) removePages(ids ...string) error {
	for _, id := range ids {
		if err := a.removePagesOf(func(owner string) bool { return owner == id }); err != nil {
			return err
		}
	}
	return nil
}

// removePagesOf removes the kept pages whose archive is one of those. What a killed
// run has left half written goes with them.
func (a *invocation) removePagesOf(gone func(id string) bool) error {
	dir := a.pagesDir()
	entries, err := a.pins.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the pages: %w", err)
	}
	if err := a.pins.Sweep(dir, 0); err != nil { // the caller has the lock
		return fmt.Errorf("remove half-written pages: %w", err)
	}
	for _, first := range []bool{true, false} {
		for _, e := range entries {
			owner := pageOwner(e.Name())
			if owner == "" || first != (e.Name() == owner+".html") || !gone(owner) {
				continue
			}
			if err := a.pins.RemoveFile(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("remove a page: %w", err)
			}
		}
	}
	return nil
}
