package cmd

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/embed"
)

// How many characters of a hit, and of what stands beside it, are shown
// without --full.
const (
	excerptRunes = 600
	besideRunes  = 200
)

// passagePrinter shows texts with the words of a query marked for people: in
// bold, or on a terminal without colour between asterisks. In a pipe, and with
// --full and no colour, texts are as they are.
type passagePrinter struct {
	terms map[string]bool // of the query
	full  bool
	mark  func(word string) string
}

func newPassagePrinter(a *app, query string, full bool) *passagePrinter {
	p := &passagePrinter{terms: queryTerms(query), full: full, mark: func(word string) string { return word }}
	switch bold := a.renderer().NewStyle().Bold(true); {
	case a.Color:
		p.mark = func(word string) string { return bold.Render(word) }
	case a.OutTTY && !full:
		p.mark = func(word string) string { return "**" + word + "**" }
	}
	return p
}

func queryTerms(query string) map[string]bool {
	terms := map[string]bool{}
	for _, term := range termsOf(query) {
		terms[term] = true
	}
	return terms
}

// matched lists the words of a text that the query has too.
func (p *passagePrinter) matched(text string) []string {
	list := []string{}
	for _, w := range p.find(text) {
		if word := text[w.from:w.to]; !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

// termsOf are the words of a text as memory knows them: without inflection,
// identifiers whole and in parts.
func termsOf(text string) []string { return strings.Fields(string(embed.AppendTerms(nil, text))) }

// hit is the part of a text that has most of the query's words.
func (p *passagePrinter) hit(text string) string {
	words := p.find(text)
	from, to := 0, len(text)
	if !p.full {
		from, to = window(text, words, excerptRunes)
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("… ")
	}
	for _, w := range words {
		if w.from < from || w.to > to {
			continue
		}
		b.WriteString(visibleText(text[from:w.from]))
		b.WriteString(p.mark(visibleText(text[w.from:w.to])))
		from = w.to
	}
	b.WriteString(visibleText(text[from:to]))
	if to < len(text) {
		b.WriteString(" …")
	}
	return b.String()
}

// beside prints a neighbour of a hit.
func (p *passagePrinter) beside(b *strings.Builder, where string, n recallNeighbor) {
	text := strings.TrimSpace(n.Text)
	if runes := []rune(text); !p.full && len(runes) > besideRunes {
		if where == "before" { // its end is nearest
			text = "… " + string(runes[len(runes)-besideRunes:])
		} else {
			text = string(runes[:besideRunes]) + " …"
		}
	}
	fmt.Fprintf(b, "   %s, lines %d-%d:\n%s\n", where, n.Source.FirstLine, n.Source.LastLine, indent(visibleText(text)))
}

// queryWord is a word of a text that the query has too.
type queryWord struct {
	from, to int // bytes
	term     string
}

// find returns the words of a text that the query has too. A word is what
// stands between spaces, without what is around it.
func (p *passagePrinter) find(text string) (words []queryWord) {
	for at := 0; at < len(text); {
		size := strings.IndexFunc(text[at:], unicode.IsSpace)
		if size < 0 {
			size = len(text) - at
		}
		if from, to := core(text, at, at+size); from < to {
			for _, term := range termsOf(text[from:to]) {
				if p.terms[term] {
					words = append(words, queryWord{from, to, term})
					break
				}
			}
		}
		_, space := utf8.DecodeRuneInString(text[at+size:])
		at += size + space
	}
	return words
}

// core is a word without the punctuation around it.
func core(text string, from, to int) (int, int) {
	plain := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '/' && r != '_' }
	word := text[from:to]
	left := len(word) - len(strings.TrimLeftFunc(word, plain))
	right := len(strings.TrimRightFunc(word, plain))
	return from + left, max(from+right, from+left)
}

// window is where most of the query's words stand, each counted once, within so
// many runes, and of several such places the one where they stand closest
// together: from the beginning of a line if one is near.
func window(text string, words []queryWord, runes int) (from, to int) {
	if utf8.RuneCountInString(text) <= runes {
		return 0, len(text)
	}
	most, closest := 0, 0
	for i, w := range words {
		terms, end, reach := map[string]bool{}, runesOn(text, w.from, runes), 0
		for _, x := range words[i:] {
			if x.to <= end && !terms[x.term] {
				terms[x.term], reach = true, x.to-w.from
			}
		}
		if len(terms) > most || len(terms) == most && reach < closest {
			most, closest, from = len(terms), reach, w.from
		}
	}
	last := runesOn(text, 0, utf8.RuneCountInString(text)-runes)
	from = min(lineStart(text, from), last)
	return from, runesOn(text, from, runes)
}

// leadBytes is how far back the beginning of a line may be, to begin there.
const leadBytes = 160

// lineStart is where the line of a place begins, or, if that is far, the word
// some way before it.
func lineStart(text string, at int) int {
	if at <= leadBytes {
		return 0
	}
	if line := strings.LastIndexByte(text[:at], '\n') + 1; at-line <= leadBytes {
		return line
	}
	if space := strings.IndexFunc(text[at-leadBytes/2:at], unicode.IsSpace); space >= 0 {
		_, size := utf8.DecodeRuneInString(text[at-leadBytes/2+space:])
		return at - leadBytes/2 + space + size
	}
	return at
}

// runesOn is the place n runes after another, or the end.
func runesOn(text string, from, n int) int {
	for i := range text[from:] {
		if n == 0 {
			return from + i
		}
		n--
	}
	return len(text)
}
