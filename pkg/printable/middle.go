package printable

import "github.com/charmbracelet/x/ansi"

// Middle cuts text to a width in columns of the terminal, with "…" where its middle
// was: of names that begin alike the end tells. What it returns is safe to show (see
// [Line]).
func Middle(text string, width int) string {
	text = Line(text)
	whole := ansi.StringWidth(text)
	if whole <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	tail := (width - 1) / 2
	head := ansi.Truncate(text, width-1-tail, "")
	end := ansi.TruncateLeft(text, whole-tail, "")
	for from := whole - tail + 1; ansi.StringWidth(end) > tail && from <= whole; from++ { // a wide sign lies on the edge
		end = ansi.TruncateLeft(text, from, "")
	}
	return head + "…" + end
}
