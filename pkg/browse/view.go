package browse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/dustin/go-humanize"
	"github.com/sessctl/sessctl/pkg/printable"
)

// Style says what a piece of text is, not how it looks.
type Style int

// The styles. What they say is said by the text too, so that nothing is lost
// without colour.
const (
	Plain Style = iota
	Title
	Dim
	Strong  // headings of messages, questions
	Cursor  // the row under the cursor
	Warning // over the threshold, failures
	Marked  // the lines that a hit is about
)

// Span is a piece of text in one style.
type Span struct {
	Text  string
	Style Style
}

// Line is one row of the screen.
type Line []Span

// Screen draws the model for a terminal of so many columns and rows: at most so
// many lines, none wider. No rune of it does anything to a terminal.
func (m *Model) Screen(width, height int) []Line {
	width, height = max(width, 1), max(height, 1)
	m.width = width
	var top, bottom []Line
	room := height
	for _, least := range []int{3, 4, 6} { // the status, the heading, the keys
		if height >= least {
			room--
		}
	}
	body := m.shown().body(m, width, room) // first: what the others say depends on what was drawn
	body = body[:min(len(body), room)]
	for len(body) < room {
		body = append(body, Line{})
	}
	if height >= 3 {
		bottom = append(bottom, m.status())
	}
	if height >= 4 {
		top = []Line{m.heading(width)}
	}
	if height >= 6 {
		bottom = append(bottom, m.keyLine(width))
	}
	all := slices.Concat(top, body, bottom)
	for i, line := range all {
		all[i] = line.fit(width)
	}
	return all
}

// fit makes a line safe and no wider than the screen. A line with the cursor is
// filled to the edge.
func (l Line) fit(width int) Line {
	var fitted Line
	for _, s := range l {
		text := safe(s.Text)
		if w := ansi.StringWidth(text); w > width {
			text = ansi.Truncate(text, width, "…")
		}
		width -= ansi.StringWidth(text)
		fitted = append(fitted, Span{text, s.Style})
	}
	if n := len(fitted); n > 0 && fitted[0].Style == Cursor && width > 0 {
		fitted = append(fitted, Span{strings.Repeat(" ", width), Cursor})
	}
	return fitted
}

// safe is text for one row of a terminal.
func safe(s string) string {
	if strings.ContainsRune(s, '\t') {
		s = strings.ReplaceAll(s, "\t", "    ")
	}
	return printable.Line(s)
}

// heading says where one is.
func (m *Model) heading(width int) Line {
	if title := m.shown().title(); title != "" {
		return Line{{" sessctl ", Title}, {" " + title, Strong}}
	}
	total, beside := int64(0), 0
	for _, n := range m.nodes {
		total, beside = total+n.bytes, beside+n.beside
	}
	text := " " + counted(len(m.home.Sessions), beside) + ", " + formatBytes(total)
	if width >= 60 {
		text += fmt.Sprintf(" · archives %s · memory %s", formatBytes(m.home.Archives), formatBytes(m.home.Memory))
	}
	if width >= 100 && m.home.Trash > 0 {
		text += " · trash " + formatBytes(m.home.Trash)
	}
	if m.loading {
		text = " measuring … " + text
	}
	if filter := m.tree().filter; filter != "" {
		shown := 0
		for _, n := range m.tree().rows(m) {
			if n.session != nil {
				shown++
			}
		}
		text = fmt.Sprintf(" %d of %s: %s", shown, plural(len(m.home.Sessions), "session"), filter)
	}
	return Line{{" sessctl ", Title}, {text, Strong}}
}

// status says what is under way, or what was to be said.
func (m *Model) status() Line {
	switch {
	case m.job != nil:
		text := " " + m.job.what
		if m.job.total > 0 {
			text += fmt.Sprintf(" %d%%", 100*m.job.done/m.job.total)
		}
		if m.job.seconds > 1 {
			text += fmt.Sprintf(" (%ds)", m.job.seconds)
		}
		if m.job.stopping {
			return Line{{text + " … stops at the next safe point", Warning}}
		}
		return Line{{text + " … esc breaks it off", Strong}}
	case m.warn:
		return Line{{" " + m.message, Warning}}
	}
	return Line{{" " + m.message, Strong}}
}

// keyLine shows as many keys as fit.
func (m *Model) keyLine(width int) Line {
	hints := m.shown().hints(m)
	last := []hint{{"?", "keys"}, {"q", "quit"}}
	if len(m.screens) > 1 {
		last = last[:1]
	}
	switch m.shown().(type) {
	case *promptScreen, *planScreen:
		last = nil
	}
	if m.job != nil {
		hints, last = []hint{{"esc", "break off"}}, nil
	}
	room := width
	for _, h := range last {
		room -= h.width()
	}
	var line Line
	for _, h := range append(hints, last...) {
		if w := h.width(); slices.Contains(last, h) || w <= room {
			if !slices.Contains(last, h) {
				room -= w
			}
			line = append(line, Span{" " + h.key, Strong}, Span{" " + h.does + " ", Dim})
		}
	}
	return line
}

func (h hint) width() int { return ansi.StringWidth(h.key) + ansi.StringWidth(h.does) + 3 }

func (n *node) style(current bool) Style {
	switch {
	case current:
		return Cursor
	case n.session == nil:
		return Strong
	case n.session.gone() || n.session.Closed:
		return Dim
	case n.session.Warn:
		return Warning
	}
	return Plain
}

func (n *node) tokenText() string {
	switch {
	case n.session != nil && (n.session.gone() || n.session.Closed || !n.session.Measured):
		return "-"
	case !n.measured && n.tokens == 0:
		return "…"
	}
	return humanize.Comma(n.tokens)
}

func (n *node) idle(now time.Time) string {
	if n.used.IsZero() || now.IsZero() {
		return "-"
	}
	switch d := now.Sub(n.used); {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// bar draws a part of the largest as filled cells.
func bar(part, most int64) string {
	filled := 0
	if most > 0 {
		filled = int((part*barCells + most/2) / most)
	}
	return strings.Repeat("█", filled) + strings.Repeat("░", barCells-filled)
}

// pad makes text exactly so wide.
func pad(text string, width int) string {
	text = ansi.Truncate(safe(text), max(width, 0), "…")
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-ansi.StringWidth(text), 0)) + text
}

func formatBytes(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(int64(n)) + " " + noun + "s"
}
