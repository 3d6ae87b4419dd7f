package cmd

// Output rules:
//   - stdout is data: one document of --json, or what a person asked to see.
//   - stderr is everything else: progress, notices, "sessctl: error", "hint:".
//   - Messages start in lower case and have no full stop; hints have a line
//     of their own.
//   - Text that came from a session or a file name goes through visible or
//     visibleText before it reaches either.
//   - Colour and bars only on a terminal, and never with NO_COLOR or
//     TERM=dumb. Without a terminal a table is tab-separated, without header.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/dustin/go-humanize"
	"github.com/muesli/termenv"
	"golang.org/x/term"
)

// streams are the three streams of a command and what they are connected to.
type streams struct {
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	OutTTY bool
	ErrTTY bool
	Color  bool // on Out
	Width  int  // columns of Out, 80 if unknown
}

func newStreams(in io.Reader, out, errOut io.Writer) *streams {
	s := &streams{In: in, Out: out, Err: errOut, OutTTY: isTerminal(out), ErrTTY: isTerminal(errOut), Width: 80}
	s.Color = s.OutTTY && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if f, ok := out.(*os.File); ok && s.OutTTY {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			s.Width = w
		}
	}
	return s
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// renderer returns lipgloss bound to Out, so that nothing probes the process's
// own stdout.
func (s *streams) renderer() *lipgloss.Renderer {
	r := lipgloss.NewRenderer(s.Out)
	if !s.Color {
		r.SetColorProfile(termenv.Ascii)
	}
	return r
}

// note is something a person should know that is no error.
type note struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// notice tells a note on stderr, or keeps it for the document of --json.
// What was told once is not told again.
func (a *app) notice(n note) {
	if slices.Contains(a.notes, n) {
		return
	}
	a.notes = append(a.notes, n)
	if a.global.JSON || a.global.Quiet {
		return
	}
	text := n.Message
	if n.Path != "" {
		text = n.Path + ": " + text
	}
	_, _ = fmt.Fprintln(a.Err, "note: "+visible(text))
	a.hint(n.Hint)
}

func (a *app) hint(text string) {
	if text != "" && !a.global.Quiet {
		_, _ = fmt.Fprintln(a.Err, "hint: "+visible(text))
	}
}

// printJSON prints one document and a line feed.
func (s *streams) printJSON(document any) error {
	return writeJSON(s.Out, "  ", document)
}

// writeJSON writes one value and a line feed. <, > and & are as they are; what
// does something to a terminal instead of being seen there is escaped.
func writeJSON(w io.Writer, indent string, value any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(visibleJSON(b.Bytes()))
	return err
}

// printRows prints tab-separated rows for programs that read no JSON.
func (s *streams) printRows(rows [][]string) error { return s.printEach(slices.Values(rows)) }

// printEach is printRows for rows that are made one after the other.
func (s *streams) printEach(rows iter.Seq[[]string]) error {
	var b bytes.Buffer
	for row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	_, err := s.Out.Write(b.Bytes())
	return err
}

func formatBytes(n int64) string {
	return humanize.IBytes(uint64(max(n, 0)))
}

func formatCount(n int64) string { return humanize.Comma(n) }

// formatAge says how long ago something was, in one unit.
func formatAge(d time.Duration) string {
	switch {
	case d < 0:
		return "in the future"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
