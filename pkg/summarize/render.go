package summarize

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// section is one heading and its lines, in the order they are shown.
type section struct {
	title string
	lines []string
	share int // of the whole, in percent: what the section may use if all are full
}

// Summary writes down what was collected. The text is never longer than
// Options.MaxRunes and never empty if there was a message.
func (e *Extractive) Summary() Summary {
	if e.messages == 0 {
		return Summary{Kind: "extractive"}
	}
	head := fmt.Sprintf("# Session summary\n\n%d messages, %d of them from the user. Taken from the log word for word; line numbers are those of the log.\n", e.messages, e.users)
	text := clip(head, e.options.MaxRunes)
	room := e.options.MaxRunes - utf8.RuneCountInString(text)
	for _, s := range fit(e.sections(), room) {
		text += s
	}
	return Summary{Kind: "extractive", Text: text, Chars: utf8.RuneCountInString(text)}
}

func (e *Extractive) sections() []section {
	all := []section{
		{"Goals", lines(e.goals.inOrder()), 18},
		{"Constraints and preferences", lines(e.rules.inOrder()), 9},
		{"Decisions", lines(e.decisions.inOrder()), 15},
		{"Files changed", fileLines(e.files.touched(true)), 8},
		{"Files read", fileLines(e.files.touched(false)), 5},
		{"Commands", commandLines(e.commands.list), 11},
		{"Errors", lines(e.failures.inOrder()), 9},
		{"Open questions", lines(e.questions.items), 5},
		{"Next steps", lines(e.next.items), 6},
		{"Last exchanges", lines(e.exchanges.items), 14},
	}
	if e.previous.text != "" {
		earlier := section{"Earlier summary", []string{fmt.Sprintf("%s (line %d)", e.previous.text, e.previous.line)}, 16}
		all = append([]section{earlier}, all...)
	}
	return all
}

func lines(items []item) []string {
	out := make([]string, 0, len(items))
	for _, it := range items {
		out = append(out, fmt.Sprintf("- %s (line %d)", it.text, it.line))
	}
	return out
}

func fileLines(list []file) []string {
	out := make([]string, 0, len(list))
	for _, f := range list {
		out = append(out, fmt.Sprintf("- %s (line %d, %d times)", shorten(f.path, 160), f.line, f.touches))
	}
	return out
}

func commandLines(list []command) []string {
	out := make([]string, 0, len(list))
	for _, c := range list {
		end := ""
		switch {
		case c.known:
			end = fmt.Sprintf(", exit code %d", c.code)
		case c.bad:
			end = ", failed"
		}
		out = append(out, fmt.Sprintf("- `%s`%s (line %d)", strings.ReplaceAll(c.text, "`", "'"), end, c.line))
	}
	return out
}

// fit renders the sections into room code points: each gets what it needs up
// to its share of the room plus what those before it left over.
func fit(sections []section, room int) []string {
	var out []string
	total, spare := 0, 0
	for _, s := range sections {
		total += s.share
	}
	for _, s := range sections {
		budget := room*s.share/total + spare
		text := s.render(budget)
		spare = budget - utf8.RuneCountInString(text)
		if text != "" {
			out = append(out, text)
		}
	}
	return out
}

// render writes as many whole lines as the budget has room for; a single line
// that is too long is cut.
func (s section) render(budget int) string {
	if len(s.lines) == 0 {
		return ""
	}
	text := "\n## " + s.title + "\n"
	used := utf8.RuneCountInString(text)
	shown := 0
	for _, line := range s.lines {
		n := utf8.RuneCountInString(line) + 1
		if used+n > budget {
			break
		}
		text, used, shown = text+line+"\n", used+n, shown+1
	}
	if shown == 0 {
		if budget < used+20 {
			return ""
		}
		return text + clip(s.lines[0], budget-used-1) + "\n"
	}
	return text
}

func clip(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:max(n-1, 0)]) + "…"
}
