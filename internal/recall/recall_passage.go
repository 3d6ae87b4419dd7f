package recall

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/embed"
)

// How many characters of a hit, and of what stands beside it, are shown
// without --full.
const (
	ExcerptRunes = 600
	BesideRunes  = 200
)

// PassagePrinter shows texts with the words of a query marked for people: in
// bold, or on a terminal without colour between asterisks. In a pipe, and with
// --full and no colour, texts are as they are.
type PassagePrinter struct {
	Terms map[string]bool // of the query
	Full  bool
	Mark  func(word string) string
}

// QueryTerms are the words of a question.
func QueryTerms(query string) map[string]bool {
	terms := map[string]bool{}
	for _, term := range TermsOf(query) {
		terms[term] = true
	}
	return terms
}

// matched lists the words of a text that the query has too.
func (p *PassagePrinter) matched(text string) []string {
	list := []string{}
	for _, w := range p.Find(text) {
		if word := text[w.from:w.to]; !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return list
}

// TermsOf are the words of a text as memory knows them: without inflection,
// identifiers whole and in parts.
func TermsOf(text string) []string { return strings.Fields(string(embed.AppendTerms(nil, text))) }

// Hit is the part of a text that has most of the query's words.
func (p *PassagePrinter) Hit(text string) string {
	words := p.Find(text)
	from, to := 0, len(text)
	if !p.Full {
		from, to = Window(text, words, ExcerptRunes)
	}
	var b strings.Builder
	b.WriteString(Opening(text, from))
	for _, w := range words {
		if w.from < from || w.to > to {
			continue
		}
		b.WriteString(wording.VisibleText(text[from:w.from]))
		b.WriteString(p.Mark(wording.VisibleText(text[w.from:w.to])))
		from = w.to
	}
	b.WriteString(wording.VisibleText(text[from:to]))
	if to < len(text) {
		b.WriteString(" …")
	}
	return b.String()
}

// Beside prints a neighbour of a hit.
func (p *PassagePrinter) Beside(b *strings.Builder, where string, n recallNeighbor) {
	text := strings.TrimSpace(n.Text)
	if runes := []rune(text); !p.Full && len(runes) > BesideRunes {
		if where == "before" { // its end is nearest
			text = "… " + string(runes[len(runes)-BesideRunes:])
		} else {
			text = string(runes[:BesideRunes]) + " …"
		}
	}
	fmt.Fprintf(b, "   %s, lines %d-%d:\n%s\n", where, n.Source.FirstLine, n.Source.LastLine, Indent(wording.VisibleText(text)))
}

// QueryWord is a word of a text that the query has too.
type QueryWord struct {
	from, to int    // bytes
	Term     string // of the query
}

// Find returns the words of a text that the query has too. A word is what
// stands between spaces, without what is around it. It is there once for each of its
// terms: of "beta-12" a question has more in "beta-12" than in "beta-11".
func (p *PassagePrinter) Find(text string) (words []QueryWord) {
	for at := 0; at < len(text); {
		size := strings.IndexFunc(text[at:], unicode.IsSpace)
		if size < 0 {
			size = len(text) - at
		}
		if from, to := core(text, at, at+size); from < to {
			for _, term := range TermsOf(text[from:to]) {
				if p.Terms[term] {
					words = append(words, QueryWord{from, to, term})
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

// Window is where most of the query's words stand, each counted once, within so
// many runes, and of several such places the one where they stand closest
// together: from the beginning of a line if one is near.
func Window(text string, words []QueryWord, runes int) (from, to int) {
	if utf8.RuneCountInString(text) <= runes {
		return 0, len(text)
	}
	most, closest := 0, 0
	for i, w := range words {
		terms, end, reach := map[string]bool{}, RunesOn(text, w.from, runes), 0
		for _, x := range words[i:] {
			if x.to <= end && !terms[x.Term] {
				terms[x.Term], reach = true, x.to-w.from
			}
		}
		if len(terms) > most || len(terms) == most && reach < closest {
			most, closest, from = len(terms), reach, w.from
		}
	}
	last := RunesOn(text, 0, utf8.RuneCountInString(text)-runes)
	from = min(lineStart(text, from), last)
	return from, RunesOn(text, from, runes)
}

// LeadBytes is how far back the beginning of a line may be, to begin there.
const LeadBytes = 160

// lineStart is where the line of a place begins, or, if that is far, the word
// some way before it.
func lineStart(text string, at int) int {
	if at <= LeadBytes {
		return 0
	}
	if line := strings.LastIndexByte(text[:at], '\n') + 1; at-line <= LeadBytes {
		return line
	}
	if space := strings.IndexFunc(text[at-LeadBytes/2:at], unicode.IsSpace); space >= 0 {
		_, size := utf8.DecodeRuneInString(text[at-LeadBytes/2+space:])
		return at - LeadBytes/2 + space + size
	}
	return at
}

// RunesOn is the place n runes after another, or the end.
func RunesOn(text string, from, n int) int {
	for i := range text[from:] {
		if n == 0 {
			return from + i
		}
		n--
	}
	return len(text)
}
