package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/archive"
)

func newArchiveShowCommand(a *app) *cobra.Command {
	var lines string
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Print an archived log, or some of its lines",
		Long: `Print the lines of an archived log as they were. On a terminal, control
characters in them are made visible; into a file or a pipe the bytes go out
unchanged. ID is an archive's id, the start of one, or a session id that has one
archive.`,
		Example: `  sessctl archive show 3f9a2c --lines 120-140
  sessctl archive show 3f9a2c > session.jsonl`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			first, last, err := parseLines(lines)
			if err != nil {
				return usageError("write --lines 120-140", "--lines: %w", err)
			}
			return runArchiveShow(c.Context(), a, args[0], first, last)
		},
	}
	c.Flags().StringVar(&lines, "lines", "", "only these `lines` (120-140), counted from 1")
	return c
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

func runArchiveShow(ctx context.Context, a *app, id string, first, last int) error {
	store, err := a.openArchive()
	if err != nil {
		return err
	}
	entry, err := findArchive(ctx, store, id)
	if err != nil {
		return err
	}
	if a.global.JSON {
		return a.printArchive(ctx, store, entry, lineRange{first, last})
	}
	if last == 0 && !a.OutTTY {
		return copyArchive(ctx, a.Out, store, entry)
	}
	return store.Lines(ctx, entry, first, last, func(_ int, piece []byte) error {
		if a.OutTTY {
			piece = []byte(visibleText(string(piece)))
		}
		_, err := a.Out.Write(piece)
		return err
	})
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
type lineRange struct{ first, last int }

func (a *app) printArchive(ctx context.Context, store *archive.Store, entry archive.Entry, lines lineRange) error {
	doc := showDocument{Schema: 1, Archive: newArchiveRow(entry), Lines: []showLine{}}
	number, line := 0, []byte(nil)
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
		return nil
	})
	if err != nil {
		return err
	}
	end()
	return a.printJSON(doc)
}

func newShowLine(n int, line []byte) showLine {
	if json.Valid(line) && utf8.Valid(line) {
		return showLine{Line: n, Record: line}
	}
	return showLine{Line: n, Text: string(line)}
}
