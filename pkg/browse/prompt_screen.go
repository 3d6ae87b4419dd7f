package browse

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// promptScreen asks for a text: a question to the memory, unless enter says what to
// do with it.
type promptScreen struct {
	text  []rune
	name  string
	does  string   // what enter does
	about []string // what to type
	enter func(m *Model, text string) Request
}

const mostQuestion = 1000 // runes

func (p *promptScreen) title() string { return cmp.Or(p.name, "ask memory") }

func (p *promptScreen) insert(text string) {
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if len(p.text) < mostQuestion {
			p.text = append(p.text, r)
		}
	}
}

func (p *promptScreen) press(m *Model, k Key) Request {
	switch k.Name {
	case "esc":
		m.back()
	case "enter":
		m.back()
		text := strings.TrimSpace(string(p.text))
		if p.enter != nil {
			return p.enter(m, text)
		}
		if text == "" {
			return Request{}
		}
		return m.await("asking the memory", Request{Do: Recall, Question: text})
	case "backspace":
		p.text = p.text[:max(len(p.text)-1, 0)]
	case "ctrl+u":
		p.text = nil
	case "space":
		p.text = append(p.text, ' ')
	default:
		if len(p.text) < mostQuestion {
			p.text = append(p.text, []rune(k.Text)...)
		}
	}
	return Request{}
}

func (p *promptScreen) body(_ *Model, width, height int) (lines []Line) {
	text := safe(string(p.text))
	room := width - 4
	for ansi.StringWidth(text) > room && text != "" { // the end of a long question is what is typed
		runes := []rune(text)
		text = string(runes[1:])
	}
	lines = append(lines, Line{{" > ", Strong}, {text, Plain}, {"█", Cursor}})
	if height > 4 {
		lines = append(lines, Line{})
		about := p.about
		if p.enter == nil {
			about = []string{
				"Memory knows what was said in sessions that were archived and remembered (a) or compacted (c).",
				"For example: which port did we choose for the importer",
			}
		}
		for _, line := range about {
			lines = append(lines, rowsOf(line, Dim, width)...)
		}
	}
	return lines
}

func (p *promptScreen) hints(*Model) []hint {
	return []hint{{"enter", cmp.Or(p.does, "ask")}, {"esc", "back"}}
}
