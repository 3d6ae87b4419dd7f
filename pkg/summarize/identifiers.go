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

func (d *identifiers) add(text string) {
	for _, found := range identifier.FindAllString(text, -1) {
		found = strings.Trim(strings.TrimRight(found, ".,:;"), "`")
		if n := utf8.RuneCountInString(found); n < 3 && !strings.HasPrefix(found, "#") || n > maxIdentifierRunes {
			continue
		}
		if _, known := d.count[found]; !known {
			d.seen++
			d.order[found] = d.seen
		}
		d.count[found]++
	}
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

// indexTitle is the heading of what a summary lacks.
const indexTitle = "## Also in the log"

// index is a section that names the most frequent of what a summary lacks, no
// longer than so many code points; "" if there is no room.
func index(lost []string, runes int) string {
	head := fmt.Sprintf("\n\n%s\n\n", indexTitle)
	runes = min(runes, maxIndexRunes)
	used := utf8.RuneCountInString(head)
	var b strings.Builder
	for i, name := range lost {
		item := "- " + code(name) + "\n"
		if used += utf8.RuneCountInString(item); i >= maxIndex || used > runes {
			break
		}
		b.WriteString(item)
	}
	if b.Len() == 0 {
		return ""
	}
	return head + strings.TrimRight(b.String(), "\n")
}
