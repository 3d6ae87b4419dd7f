package summarize

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// Bounds of the identifiers that are watched, and of the index of those that
// a summary lacks.
const (
	maxIdentifiers = 4096
	maxIndex       = 40   // items
	maxIndexRunes  = 2000 // of all
)

// identifiers are the identifiers of a log that streams by. When there are too
// many, those that were named least go: the frequent ones stay.
type identifiers struct {
	byName   map[string]*mention
	messages int
	said     bool // what is looked at is the word of a person or the agent
}

// mention is an identifier and where it was named.
type mention struct {
	name     string
	line     int  // where it was named first
	messages int  // in which it is named
	last     int  // the last of them
	said     bool // by a person or the agent, not only in what a tool printed
	order    int  // among all, by when it was named first
}

// unescaped ends the lines of strings that stand as JSON in a call.
var unescaped = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`)

// add takes in what a message says, as far as [Flat] would tell a model: of
// results and of calls the beginning. What somebody says is handed to text by
// whoever has it without envelopes and secrets.
func (d *identifiers) add(m *session.Message) {
	d.messages++
	d.said = m.Role == session.RoleUser || m.Role == session.RoleAssistant
	if m.Role == session.RoleSystem || !m.Embeddable() {
		return
	}
	worded := d.said || m.Role == session.RoleSummary
	_, limit := flatLabel(m)
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case session.PartText, session.PartCommand:
			if worded {
				continue
			}
			d.printed(m.Line, string(beginning(session.WithoutRecalled(p.Text), limit)))
		case session.PartToolCall:
			d.printed(m.Line, unescaped.Replace(string(beginning(p.Text, flatCallRunes))))
		}
	}
	d.bound()
}

// beginning is at most so many code points of a text.
func beginning(text []byte, runes int) []byte {
	return cutRunes(cut(text, 4*runes), runes)
}

func (d *identifiers) text(line int, text string) {
	for name := range identifiersOf(text) {
		d.name(line, name, 1)
	}
}

// printed takes in a text that may have secrets. They are only looked for, which
// takes longer than all the rest, if the text has a name that is not known.
func (d *identifiers) printed(line int, text string) {
	for name := range identifiersOf(text) {
		if d.byName[name] == nil {
			text = redact(text)
			break
		}
	}
	d.text(line, text)
}

// name notes that a message, or several, name something.
func (d *identifiers) name(line int, name string, messages int) {
	known := d.byName[name]
	if known == nil {
		if d.byName == nil {
			d.byName = map[string]*mention{}
		}
		known = &mention{name: strings.Clone(name), line: line, order: d.messages}
		d.byName[known.name] = known
	}
	known.said = known.said || d.said
	if known.last < d.messages || known.messages == 0 {
		known.messages += messages
		known.last = d.messages
	}
}

// addCommands takes in commands that ran and did more than look.
func (d *identifiers) addCommands(c *commands) {
	for _, ran := range c.sorted() {
		if ran.score >= 0 && d.byName[ran.text] == nil {
			d.name(ran.line, ran.text, ran.runs)
		}
	}
	d.bound()
}

// bound lets those go that were named least.
func (d *identifiers) bound() {
	for least := 1; len(d.byName) > maxIdentifiers; least++ {
		maps.DeleteFunc(d.byName, func(_ string, m *mention) bool { return m.messages <= least })
	}
}

// missing returns those that a text does not contain, the most frequent first,
// of equals what was said before what was only printed, and the one that was
// named first.
func (d *identifiers) missing(text string) []*mention {
	var lost []*mention
	for name, m := range d.byName {
		if !strings.Contains(text, name) {
			lost = append(lost, m)
		}
	}
	slices.SortFunc(lost, func(a, b *mention) int {
		return cmp.Or(cmp.Compare(b.messages, a.messages), firstTrue(a.said, b.said), cmp.Compare(a.order, b.order), cmp.Compare(a.line, b.line), strings.Compare(a.name, b.name))
	})
	return lost
}

// firstTrue puts what is true first.
func firstTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// bareNumber is a number that says nothing without what stands beside it.
var bareNumber = regexp.MustCompile(`^[0-9]{1,4}$|^[0-9]+\.[0-9]+$`)

// indexTitle is the heading of what a summary lacks.
const (
	indexName  = "Also in the log"
	indexTitle = "## " + indexName
)

// indexed are the items of the index that names the most frequent of what a
// summary lacks, no longer than so many code points with its heading; none if
// there is no room.
func indexed(lost []*mention, runes int) []candidate {
	runes = min(runes, maxIndexRunes) - utf8.RuneCountInString("\n\n"+indexTitle+"\n\n")
	var items []candidate
	for _, m := range lost {
		if bareNumber.MatchString(m.name) {
			continue
		}
		c := candidate{text: code(m.name), line: m.line}
		runes -= utf8.RuneCountInString(indexLine(c))
		if len(items) >= maxIndex || runes < 0 {
			break
		}
		items = append(items, c)
	}
	return items
}

func indexLine(c candidate) string { return fmt.Sprintf("- %s (line %d)\n", c.text, c.line) }

// index is the section of these items, "" for none.
func index(items []candidate) string {
	if len(items) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\n" + indexTitle + "\n\n")
	for _, c := range items {
		b.WriteString(indexLine(c))
	}
	return strings.TrimRight(b.String(), "\n")
}

// report is what became of the identifiers of a log.
type report struct{ all, lost, named int }

// complete returns a text with the index of what it lacks, of at most so many
// code points, and the report of the loss.
func (e *Extractive) complete(text string, runes int) (whole string, items []candidate, r report) {
	e.ids.addCommands(&e.commands)
	lost := e.ids.missing(text)
	items = indexed(lost, runes-utf8.RuneCountInString(text))
	return text + index(items), items, report{all: len(e.ids.byName), lost: len(lost), named: len(items)}
}
