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
	"github.com/dustin/go-humanize"
	"github.com/muesli/termenv"
	"github.com/schollz/progressbar/v3"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
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
	// underWay takes how far a piece of work has come; nil to draw a bar on Err.
	underWay func(what string, done, total int64)
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

// notice prints a note on stderr, or keeps it for the document of --json. A
// note is printed once.
func (a *app) notice(n note) {
	if slices.Contains(a.notes, n) {
		return
	}
	a.notes = append(a.notes, n)
	if a.outer != nil {
		a.outer.notice(n)
		return
	}
	if a.global.JSON || a.global.Quiet {
		return
	}
	_, _ = fmt.Fprintln(a.Err, "note: "+visible(n.text()))
	a.hint(n.Hint)
}

// text is what the note says, and of which file.
func (n note) text() string {
	if n.Path == "" {
		return n.Message
	}
	return n.Path + ": " + n.Message
}

// tell is notice for what is said with --quiet too: why the run does not do all
// that it was asked for.
func (a *app) tell(n note) {
	if slices.Contains(a.notes, n) {
		return
	}
	if a.outer != nil {
		a.notes = append(a.notes, n)
		a.outer.tell(n)
		return
	}
	a.notice(n)
	if a.global.Quiet {
		_, _ = fmt.Fprintln(a.Err, "sessctl: "+visible(n.text()))
	}
}

func (a *app) hint(text string) {
	if text != "" && !a.global.Quiet {
		_, _ = fmt.Fprintln(a.Err, "hint: "+visible(text))
	}
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

// progressInterval keeps the bar from costing more than the work.
const progressInterval = 100 * time.Millisecond

// progress shows one bar on stderr for the stage that is under way. Without a
// terminal it shows nothing: a cron log is for results.
type progress struct {
	out   io.Writer
	tell  func(what string, done, total int64) // takes what the bar would show, nil for a bar
	on    bool
	what  string // that the bar shows
	count string // "12 of 400, about 3m left", where many sessions are worked on
	bar   *progressbar.ProgressBar

	now     func() time.Time
	started time.Time // when the first of many sessions came
}

// of says which of how many sessions comes now.
func (p *progress) of(number, all int) {
	p.clear()
	if p.count = ""; all <= 1 || !p.on {
		return
	}
	p.count = fmt.Sprintf("%s of %s, ", formatCount(int64(number)), formatCount(int64(all)))
	if number == 1 {
		p.started = p.now()
	}
	if left := timeLeft(p.now().Sub(p.started), number-1, all); left != "" {
		p.count += left + ", "
	}
}

// timeLeft estimates how long the rest takes of a work of which so many parts
// took so long: "about 3m left". It is "" while too little is known to tell.
func timeLeft(elapsed time.Duration, done, all int) string {
	const least = 3 * time.Second
	if done == 0 || elapsed < least {
		return ""
	}
	left := elapsed * time.Duration(all-done) / time.Duration(done)
	return "about " + formatAge(max(left, time.Second)) + " left"
}

func newProgress(a *app) *progress {
	return &progress{out: a.Err, tell: a.underWay, on: a.underWay != nil || a.showsProgress(), now: a.now}
}

func (a *app) showsProgress() bool {
	if a.outer != nil {
		return a.outer.showsProgress()
	}
	return a.ErrTTY && !a.global.Quiet && !a.global.JSON
}

// show is a compact.Progress.
func (p *progress) show(ref session.Ref, stage compact.Stage, done, total int64) {
	p.draw(fmt.Sprintf("%s%s %s", p.count, firstLine(ref.Agent, 20), stage), done, total)
}

// draw shows how far a piece of work has come. Another piece has its own bar.
func (p *progress) draw(what string, done, total int64) {
	if !p.on {
		return
	}
	if p.tell != nil {
		p.tell(what, done, total)
		return
	}
	if what != p.what || p.bar == nil {
		p.clear()
		p.what = what
		p.bar = progressbar.NewOptions64(max(total, 1),
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(what),
			progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(progressInterval),
			progressbar.OptionClearOnFinish(),
		)
		_ = p.bar.RenderBlank()
	}
	if total > 0 && p.bar.GetMax64() != total {
		p.bar.ChangeMax64(total)
	}
	_ = p.bar.Set64(done) // a bar that cannot be drawn is no reason to stop
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}

// confirm asks a question on the terminal. Without a terminal nobody is asked,
// and --yes must have given the answer.
func (a *app) confirm(question string) error {
	in, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !a.ErrTTY || a.global.JSON {
		return &failure{code: "not_confirmed", exit: exitUsage, hint: "say --yes, or --dry-run to see what would be done", err: fmt.Errorf("this needs a confirmation, and there is no terminal to ask on: %s", question)}
	}
	_, _ = fmt.Fprintf(a.Err, "%s [y/N] ", visible(question))
	line, _ := bufio.NewReader(in).ReadString('\n') // no answer is no
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	}
	return &failure{code: "not_confirmed", exit: exitFailed, err: fmt.Errorf("nothing was done")}
}
