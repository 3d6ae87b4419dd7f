package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	"github.com/schollz/progressbar/v3"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
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
	// document takes what --json would print; nil to print it.
	document func(any)
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

// unprinted are the streams of a command whose document is not printed.
func (s *streams) unprinted() *streams {
	unprinted := *s
	unprinted.document = func(any) {}
	return &unprinted
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

// printJSON prints one document and a line feed.
func (s *streams) printJSON(document any) error {
	if s.document != nil {
		s.document(document)
		return nil
	}
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
	_, err := w.Write(wording.VisibleJSON(b.Bytes()))
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

// progressInterval keeps the bar from costing more than the work.
const progressInterval = 100 * time.Millisecond

// showsOn shows a report on the streams of a command.
func showsOn(s *streams) workspace.Shows {
	return workspace.Shows{
		Line:     func(text string) { _, _ = fmt.Fprintln(s.Err, text) }, // there is nobody left to tell
		Bar:      func() workspace.ProgressBar { return &terminalBar{out: s.Err} },
		Terminal: s.ErrTTY,
	}
}

// terminalBar is a bar on a terminal.
type terminalBar struct {
	out  io.Writer
	what string // that it shows
	bar  *progressbar.ProgressBar
}

// Draw shows how far a piece of work has come. Another piece has its own bar, which
// begins where the work is.
func (b *terminalBar) Draw(what string, done, total int64) {
	if what != b.what || b.bar == nil {
		b.Clear()
		b.what = what
		b.bar = progressbar.NewOptions64(max(total, 1),
			progressbar.OptionSetWriter(b.out),
			progressbar.OptionSetDescription(what),
			progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(progressInterval),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetPredictTime(done == 0), // what was done before took no time of this bar
			progressbar.OptionSetElapsedTime(done == 0),
		)
		if 100*done < max(total, 1) { // it shows no share below 1 % by itself
			_ = b.bar.RenderBlank()
		}
	}
	if total > 0 && b.bar.GetMax64() != total {
		b.bar.ChangeMax64(total)
	}
	_ = b.bar.Set64(done) // a bar that cannot be drawn is no reason to stop
}

// Clear removes the bar.
func (b *terminalBar) Clear() {
	if b.bar != nil {
		_ = b.bar.Clear()
		b.bar = nil
	}
}

// confirm asks a question on the terminal. Without a terminal nobody is asked,
// and --yes must have given the answer.
func (a *app) confirm(question string) error {
	in, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !a.ErrTTY || a.JSON {
		return &failure.Error{Code: "not_confirmed", Exit: failure.ExitUsage, Hint: "say --yes, or --dry-run to see what would be done", Err: fmt.Errorf("this needs a confirmation, and there is no terminal to ask on: %s", question)}
	}
	_, _ = fmt.Fprintf(a.Err, "%s [y/N] ", wording.Visible(question))
	line, _ := bufio.NewReader(in).ReadString('\n') // no answer is no
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	}
	return &failure.Error{Code: "not_confirmed", Exit: failure.ExitFailed, Err: fmt.Errorf("nothing was done")}
}
