package summarize

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of the identifiers that are watched, and of the index of those that
// a summary lacks.
const (
	maxIdentifiers     = 8192
	maxIdentifierRunes = 160
	maxIndex           = 40   // items
	maxIndexRunes      = 2000 // of all
)

// identifier matches what must be repeated letter by letter: URLs, paths,
// commands in code marks, UUIDs, hashes, versions, numbers.
var identifier = regexp.MustCompile("(?:https?|ftp|ssh|postgres|file)://[^\\s\"'`<>()\\[\\]{},;]+" +
	"|`[^`\n]{3,120}`" +
	"|\\$ [^\n]{2,120}" +
	"|(?:~|\\.{1,2})?/?(?:[A-Za-z0-9_@.+-]+/)+[A-Za-z0-9_@.+-]+" +
	"|[A-Za-z0-9_-]+\\.(?:go|ts|tsx|js|py|rs|c|h|cpp|java|rb|sh|sql|md|json|yaml|yml|toml|txt|csv|html|css|log|conf|env|lock)\\b" +
	"|\\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\\b" +
	"|\\b[A-Z][A-Z0-9]+-[0-9]+\\b|#[0-9]+\\b" +
	"|\\b[0-9a-f]*[0-9][0-9a-f]{6,63}\\b" +
	"|\\bv?[0-9]+(?:\\.[0-9]+)+\\b" +
	"|\\b[0-9]{3,}\\b")

// identifiers counts the identifiers of a text that streams by. When there are
// too many, those that were seen least go: the frequent ones stay.
type identifiers struct {
	count map[string]int
	order map[string]int // when it was seen first
	seen  int
}

func newIdentifiers() *identifiers {
	return &identifiers{count: map[string]int{}, order: map[string]int{}}
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// unescaped ends the lines of strings that stand as JSON in a call.
var unescaped = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`)

// named is what tells the name of something from a word: a mark, a digit, or a
// capital within.
var named = regexp.MustCompile(`[._/:(={#$-]|[0-9]|[\p{Ll}][\p{Lu}]`)

func (d *identifiers) add(text string) {
	for _, found := range identifier.FindAllString(unescaped.Replace(text), -1) {
		found = strings.TrimRight(found, ".,:;")
		if inMarks, ok := strings.CutPrefix(found, "`"); ok {
			if found = strings.TrimSuffix(inMarks, "`"); !named.MatchString(found) {
				continue // a word that is set like code
			}
		}
		if n := utf8.RuneCountInString(found); n < 4 && !strings.HasPrefix(found, "#") && !allDigits(found) || n > maxIdentifierRunes {
			continue
		}
		if _, known := d.count[found]; !known {
			d.seen++
			d.order[found] = d.seen
		}
		d.count[found]++
	}
	d.bound()
}

// addCommands takes in commands that ran and did more than look.
func (d *identifiers) addCommands(c *commands) {
	for _, ran := range c.sorted() {
		if ran.score < 0 || d.count[ran.text] > 0 {
			continue
		}
		d.seen++
		d.order[ran.text], d.count[ran.text] = d.seen, ran.runs
	}
	d.bound()
}

// bound lets those go that were seen least.
func (d *identifiers) bound() {
	for least := 1; len(d.count) > maxIdentifiers; least++ {
		for name, n := range d.count {
			if n <= least {
				delete(d.count, name)
				delete(d.order, name)
			}
		}
	}
}

// missing returns those that a text does not contain, the most frequent first.
func (d *identifiers) missing(text string) []string {
	var lost []string
	for name := range d.count {
		if !strings.Contains(text, name) {
			lost = append(lost, name)
		}
	}
	slices.SortFunc(lost, func(a, b string) int {
		return cmp.Or(cmp.Compare(d.count[b], d.count[a]), cmp.Compare(d.order[b], d.order[a]))
	})
	return lost
}

// bareNumber is a number that says nothing without what stands beside it.
var bareNumber = regexp.MustCompile(`^[0-9]{1,4}$|^[0-9]+\.[0-9]+$`)

// indexTitle is the heading of what a summary lacks.
const indexTitle = "## Also in the log"

// index is a section that names the most frequent of what a summary lacks, no
// longer than so many code points; "" if there is no room.
func index(lost []string, runes int) string {
	head := fmt.Sprintf("\n\n%s\n\n", indexTitle)
	runes = min(runes, maxIndexRunes)
	used := utf8.RuneCountInString(head)
	var b strings.Builder
	items := 0
	for _, name := range lost {
		if bareNumber.MatchString(name) {
			continue
		}
		item := "- " + code(name) + "\n"
		if used += utf8.RuneCountInString(item); items >= maxIndex || used > runes {
			break
		}
		b.WriteString(item)
		items++
	}
	if b.Len() == 0 {
		return ""
	}
	return head + strings.TrimRight(b.String(), "\n")
}
