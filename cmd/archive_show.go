package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/archive"
)

func newArchiveShowCommand(a *app) *cobra.Command {
	var o showOptions
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Print an archived log, or some of its lines",
		Long: `Print an archived log. On a terminal its messages are shown as text, through
the pager that PAGER names; into a file or a pipe the bytes go out unchanged.
--raw prints the lines as they stand in the log on a terminal too, with control
characters made visible. ID is an archive's id, the start of one, or a session
id that has one archive.

--html writes the messages as a page for a browser, and prints its address: with
tool calls folded, code and diffs set as such, a search box, and every line at
#L<line>. It needs no network. A large session becomes several pages. Without a
file the page is kept in the data directory, where recall leads to it; memory
forget and archive prune remove it.
` + exitHelp,
		Example: `  sessctl archive show 3f9a2c --lines 120-140
  sessctl archive show 3f9a2c --text | grep -i importer
  sessctl archive show 3f9a2c > session.jsonl
  sessctl archive show 3f9a2c --html
  sessctl archive show 3f9a2c --html session.html --redact`,
		Args: func(c *cobra.Command, args []string) error {
			if o.HTML == keptPage && len(args) == 2 {
				return nil
			}
			return usageArgs(cobra.ExactArgs(1))(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			id := o.takeFile(args)
			if err := o.validatePage(c, a); err != nil {
				return err
			}
			first, last, err := parseLines(o.Lines)
			if err != nil {
				return usageError("write --lines 120-140", "--lines: %w", err)
			}
			if o.Text && o.Raw {
				return usageError("one of them", "--text does not go with --raw")
			}
			if (o.Text || o.Raw) && a.JSON {
				return usageError("--json prints the records", "--json goes with neither --text nor --raw")
			}
			o.lines = lineRange{first: first, last: last}
			return runArchiveShow(c.Context(), a, id, o)
		},
	}
	c.Flags().StringVar(&o.Lines, "lines", "", "only these `lines` (120-140), counted from 1")
	c.Flags().BoolVar(&o.Text, "text", false, "show the messages as text (the default on a terminal)")
	c.Flags().BoolVar(&o.Raw, "raw", false, "show the lines as they are (the default into a file or a pipe)")
	c.Flags().StringVar(&o.HTML, "html", "", "write the messages as a page to this `file` whose name ends in .html, - for stdout")
	c.Flags().Lookup("html").NoOptDefVal = keptPage
	c.Flags().BoolVar(&o.Redact, "redact", false, "mask what looks like a secret, with --html or --text")
	return c
}

type showOptions struct {
	Lines     string
	Text, Raw bool
	HTML      string
	Redact    bool

	lines lineRange
}

// takeFile takes the file of --html out of the arguments, where it stands after a
// space, and returns the id. Before or behind the id, a file is known by its name.
func (o *showOptions) takeFile(args []string) (id string) {
	if len(args) < 2 {
		return args[0]
	}
	file := 1
	if looksLikePage(args[0]) && !looksLikePage(args[1]) {
		file = 0
	}
	o.HTML = args[file]
	return args[1-file]
}

func looksLikePage(arg string) bool {
	return arg == "-" || strings.HasSuffix(arg, ".html") || strings.ContainsAny(arg, `/\\`)
}

// validatePage looks at the options of pages.
func (o *showOptions) validatePage(c *cobra.Command, a *app) error {
	given := c.Flags().Changed("html")
	switch {
	case given && o.HTML == "":
		return usageError("sessctl archive show ID --html session.html", "--html names no file")
	case given && (o.Text || o.Raw || o.Lines != ""):
		return usageError("the page has every line at #L<line>", "--html goes with none of --text, --raw and --lines")
	case o.HTML == "-" && a.JSON:
		return usageError("write the page to a file", "--html - does not go with --json: both print on stdout")
	case o.Redact && !given && (o.Raw || a.JSON || !o.Text && !a.OutTTY):
		return usageError("add --text or --html", "--redact masks what is shown as text, not the lines as they are")
	}
	return nil
}

// showDocument is `archive show --json`.
type showDocument struct {
	Schema  int        `json:"schema"`
	Archive archiveRow `json:"archive"`
	Lines   []showLine `json:"lines"`
}

type showLine struct {
	Line   int             `json:"line"`
	Record json.RawMessage `json:"record,omitempty"` // the line, if it is JSON
	Text   string          `json:"text,omitempty"`   // the line, if it is not
}

func runArchiveShow(ctx context.Context, a *app, id string, o showOptions) error {
	store, err := a.openArchive()
	if err != nil {
		return err
	}
	entry, err := findArchive(ctx, store, id)
	if err != nil {
		return err
	}
	switch {
	case o.HTML != "":
		return a.showPages(ctx, store, entry, o)
	case a.JSON:
		return a.printArchive(ctx, store, entry, o.lines)
	case a.readable(entry) && (o.Text || a.OutTTY && !o.Raw):
		return a.printText(ctx, store, entry, o)
	case o.Lines == "" && !a.OutTTY:
		return copyArchive(ctx, a.Out, store, entry)
	}
	return a.paged(ctx, func(ctx context.Context, out io.Writer) error { return a.printLines(ctx, out, store, entry, o.lines) })
}

func (a *app) printText(ctx context.Context, store *archive.Store, entry archive.Entry, o showOptions) error {
	var text *archivedText
	err := a.paged(ctx, func(ctx context.Context, out io.Writer) error {
		text = a.newArchivedText(out, o.lines)
		text.redact = o.Redact
		return text.print(ctx, store, entry)
	})
	if err == nil {
		text.told()
	}
	return err
}

// printLines prints lines as they are.
func (a *app) printLines(ctx context.Context, out io.Writer, store *archive.Store, entry archive.Entry, lines lineRange) error {
	end := 0
	err := store.Lines(ctx, entry, lines.first, lines.last, func(n int, piece []byte) error {
		end = n
		if a.OutTTY {
			piece = []byte(visibleText(string(piece)))
		}
		_, err := out.Write(piece)
		return err
	})
	if err != nil {
		return err
	}
	return lines.check(ctx, a.invocation, store, entry, end)
}

func copyArchive(ctx context.Context, w io.Writer, store *archive.Store, entry archive.Entry) error {
	r, err := store.OpenEntry(ctx, entry)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}

// lineRange is a range of lines, counted from 1, both included; last 0 is the
// end of the log.
type lineRange struct {
	first, last int
	most        int64 // bytes that a document of them may hold, 0 for any number
}

// tooMuch is the error for more lines than fit into a document: n is the first
// that does not.
func (l lineRange) tooMuch(n int) error {
	hint := fmt.Sprintf("ask for lines %d-%d", l.first, n-1)
	if n <= l.first {
		hint = fmt.Sprintf("sessctl archive show prints line %d on the machine itself", n)
	}
	return &failure{code: "too_much", exit: exitFailed, hint: hint, err: fmt.Errorf("the lines have more than %s", formatBytes(l.most))}
}

// check is the error for lines of which the log has none, and a note where it
// ends among them. end is the last that was there.
func (l lineRange) check(ctx context.Context, a *invocation, store *archive.Store, entry archive.Entry, end int) error {
	if end == 0 && l.first > 1 {
		return l.beyond(countLines(ctx, store, entry))
	}
	l.tellEnd(a, end)
	return nil
}

// beyond is the error for a range that begins after the end of the log.
func (l lineRange) beyond(lines int) error {
	return usageError(fmt.Sprintf("write --lines 1-%d", max(lines, 1)), "--lines: the log ends at line %d, before line %d", lines, l.first)
}

func (l lineRange) tellEnd(a *invocation, end int) {
	if l.last > end {
		a.notice(note{Message: fmt.Sprintf("the log ends at line %d", end)})
	}
}

// countLines counts the lines of what an archived log holds, for one that is
// compressed itself: those are what a receipt counts. What cannot be read of it
// has none.
func countLines(ctx context.Context, store *archive.Store, e archive.Entry) (lines int) {
	_ = store.Lines(ctx, e, 1, 0, func(n int, _ []byte) error { // the copy itself was compared already, or is told to be damaged
		lines = n
		return nil
	})
	return lines
}

func (a *app) printArchive(ctx context.Context, store *archive.Store, entry archive.Entry, lines lineRange) error {
	doc, err := a.showArchive(ctx, store, entry, lines)
	if err != nil {
		return err
	}
	return a.printJSON(doc)
}

// showArchive reads lines of an archive into a document.
func (a *invocation) showArchive(ctx context.Context, store *archive.Store, entry archive.Entry, lines lineRange) (showDocument, error) {
	doc := showDocument{Schema: 1, Archive: newArchiveRow(entry), Lines: []showLine{}}
	number, line, total := 0, []byte(nil), int64(0)
	end := func() {
		if number > 0 {
			doc.Lines = append(doc.Lines, newShowLine(number, bytes.TrimRight(line, "\r\n")))
		}
		line = nil
	}
	err := store.Lines(ctx, entry, lines.first, lines.last, func(n int, piece []byte) error {
		if n != number { // a long line comes in several pieces
			end()
			number = n
		}
		line = append(line, piece...)
		if total += int64(len(piece)); lines.most > 0 && total > lines.most {
			return lines.tooMuch(number)
		}
		return nil
	})
	if err != nil {
		return doc, err
	}
	end()
	return doc, lines.check(ctx, a, store, entry, number)
}

func newShowLine(n int, line []byte) showLine {
	if json.Valid(line) && utf8.Valid(line) {
		return showLine{Line: n, Record: line}
	}
	return showLine{Line: n, Text: string(line)}
}
