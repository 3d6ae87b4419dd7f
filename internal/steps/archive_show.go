package steps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/memory"
)

// ShowOptions are the options of archives show.
type ShowOptions struct {
	Lines     string
	On        string // host of the shared memory that has it
	Text, Raw bool
	HTML      string
	Redact    bool
	Summary   bool

	LineRange LineRange
}

// TakeFile takes the file of --html out of the arguments, where it stands after a
// space, and returns the id. Before or behind the id, a file is known by its name.
func (o *ShowOptions) TakeFile(args []string) (id string) {
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

// ShowDocument is `archives show --json`.
type ShowDocument struct {
	Schema  int                  `json:"schema"`
	Archive selection.ArchiveRow `json:"archive"`
	Lines   []showLine           `json:"lines"`
}

type showLine struct {
	Line   int             `json:"line"`
	Record json.RawMessage `json:"record,omitempty"` // the line, if it is JSON
	Text   string          `json:"text,omitempty"`   // the line, if it is not
}

// CopyArchive copies the bytes of an archive as they are.
func CopyArchive(ctx context.Context, w io.Writer, store *archive.Store, entry archive.Entry) error {
	r, err := store.OpenEntry(ctx, entry)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}

// LineRange is a range of lines, counted from 1, both included; last 0 is the
// end of the log.
type LineRange struct {
	First, Last int
	Most        int64 // bytes that a document of them may hold, 0 for any number
}

// tooMuch is the error for more lines than fit into a document: n is the first
// that does not.
func (l LineRange) tooMuch(n int) error {
	hint := fmt.Sprintf("ask for lines %d-%d", l.First, n-1)
	if n <= l.First {
		hint = fmt.Sprintf("sessctl archives show prints line %d on the machine itself", n)
	}
	return &failure.Error{Code: "too_much", Exit: failure.ExitFailed, Hint: hint, Err: fmt.Errorf("the lines have more than %s", wording.Bytes(l.Most))}
}

// Check is the error for lines of which the log has none, and a note where it
// ends among them. end is the last that was there.
func (l LineRange) Check(ctx context.Context, run *workspace.Run, store *archive.Store, entry archive.Entry, end int) error {
	if end == 0 && l.First > 1 {
		return l.Beyond(audit.CountLines(ctx, store, entry))
	}
	l.TellEnd(run, end)
	return nil
}

// Beyond is the error for a range that begins after the end of the log.
func (l LineRange) Beyond(lines int) error {
	return failure.Usage(fmt.Sprintf("write --lines 1-%d", max(lines, 1)), "--lines: the log ends at line %d, before line %d", lines, l.First)
}

// TellEnd tells that lines were asked for that there are none of.
func (l LineRange) TellEnd(run *workspace.Run, end int) {
	if l.Last > end {
		run.Notice(workspace.Note{Message: fmt.Sprintf("the log ends at line %d", end)})
	}
}

// ShowArchive reads lines of an archive into a document.
func ShowArchive(ctx context.Context, run *workspace.Run, store *archive.Store, entry archive.Entry, lines LineRange) (ShowDocument, error) {
	doc := ShowDocument{Schema: 1, Archive: NewArchiveRow(entry), Lines: []showLine{}}
	number, line, total := 0, []byte(nil), int64(0)
	end := func() {
		if number > 0 {
			doc.Lines = append(doc.Lines, newShowLine(number, bytes.TrimRight(line, "\r\n")))
		}
		line = nil
	}
	err := store.Lines(ctx, entry, lines.First, lines.Last, func(n int, piece []byte) error {
		if n != number { // a long line comes in several pieces
			end()
			number = n
		}
		line = append(line, piece...)
		if total += int64(len(piece)); lines.Most > 0 && total > lines.Most {
			return lines.tooMuch(number)
		}
		return nil
	})
	if err != nil {
		return doc, err
	}
	end()
	return doc, lines.Check(ctx, run, store, entry, number)
}

func newShowLine(n int, line []byte) showLine {
	if json.Valid(line) && utf8.Valid(line) {
		return showLine{Line: n, Record: line}
	}
	return showLine{Line: n, Text: string(line)}
}

// SummaryDocument is `archives show --summary --json`.
type SummaryDocument struct {
	Schema  int                  `json:"schema"`
	Archive selection.ArchiveRow `json:"archive"`
	// Of is the id of the archive that the summary was made of: an earlier one of
	// the session, where this one has none of its own.
	Of   string `json:"of"`
	Text string `json:"text"`
}

// ShowSummary reads the summary that memory has of an archive.
func ShowSummary(ctx context.Context, run *workspace.Run, entry archive.Entry) (SummaryDocument, error) {
	store, err := recall.ReadMemory(ctx, run)
	if err != nil {
		return SummaryDocument{}, err
	}
	defer store.Close()
	r, err := store.SummaryOf(ctx, memory.Source{Runtime: entry.Runtime, Agent: entry.Agent, Session: entry.Session}, entry.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return SummaryDocument{}, &failure.Error{Code: "no_summary", Exit: failure.ExitFailed,
			Hint: "compact writes one; what was archived without it has none, and a summary can be forgotten", Err: fmt.Errorf("memory has no summary of archive %s", entry.ID)}
	}
	if err == nil && r.Archive != entry.ID {
		run.Notice(workspace.Note{Message: "the summary is of archive " + r.Archive + " of this session"})
	}
	return SummaryDocument{1, NewArchiveRow(entry), r.Archive, r.Text}, err
}
