package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/rank"
)

// A word that was said nowhere may be one that was, typed wrongly: two letters
// changed places, one is missing, one is too many, one is another. Only words of
// English letters that the built-in embedder does not know are looked at, names and
// paths too; a first letter is seldom wrong; and a number or an id means what it
// says (docs/recall.md, Typing errors).

// Typing errors. Correcting words at once, and not only if nothing fits, costs 0.1
// points of recall@5 on the conversations, and 0.3 if known words were corrected too.
// The bounds have no figure: they keep a correction to 4 ms.
const (
	shortestTyped = 5 // letters: shorter words have too many others beside them
	longestTyped  = 40
	mostTyped     = 3 // words of a question
	// spellingPages bounds what is read to find them, in pages of 4 KB.
	spellingPages = 256
)

// correctSpelling puts words that were said in the place of words of the query that
// were not, as far as those may be replaced. It reports whether there were any.
func (r *recall) correctSpelling(ctx context.Context, may func(word string) bool) (corrected bool, err error) {
	english, knows := r.embedder.(rank.Meanings)
	if !knows || !r.byWords() {
		return false, nil
	}
	words := strings.Fields(r.query.Text)
	unknown, err := r.unknownWords(ctx, english, words, may)
	if err != nil {
		return false, err
	}
	for _, at := range unknown[:min(len(unknown), mostTyped)] {
		typed := rank.TrimmedWord(words[at])
		meant, err := meantWord(ctx, r.index, typed)
		if err != nil {
			return false, err
		}
		if meant == "" {
			continue
		}
		corrected, words[at] = true, strings.Replace(words[at], typed, meant, 1)
		r.corrected = append(r.corrected, fmt.Sprintf("nobody said %q: looked for %q", typed, meant))
	}
	if corrected { // all is asked and counted again
		r.query.Text = strings.Join(words, " ")
		r.words, r.known = r.query.Text, embeddedQuery{}
	}
	return corrected, nil
}

// unknownWords are the places of the words that are no English, may be typed
// wrongly, and stand in no record.
func (r *recall) unknownWords(ctx context.Context, english rank.Meanings, words []string, may func(word string) bool) (places []int, err error) {
	var at []int
	var asked []string
	for i, word := range words {
		word = rank.TrimmedWord(word)
		term := wholeTerm(word)
		if term == "" || !isTyped(word) || !may(word) {
			continue
		}
		switch _, err := english.EmbedMeaning(ctx, word); {
		case err == nil && len(terms(word)) == 1: // of a compound, it knows some parts
			continue
		case err != nil && !errors.Is(err, embed.ErrNoVector):
			return nil, err
		}
		at, asked = append(at, i), append(asked, term)
	}
	if len(asked) == 0 {
		return nil, nil
	}
	counts, err := r.index.Count(ctx, asked)
	if err != nil {
		return nil, err
	}
	for i, n := range counts.With {
		if n == 0 {
			places = append(places, at[i])
		}
	}
	return places, nil
}

// isTyped says whether a word may be one that was typed wrongly.
func isTyped(word string) bool {
	if len(word) < shortestTyped || len(word) > longestTyped || !isLetter(word[0]) {
		return false
	}
	for _, c := range []byte(word) {
		if !isLetter(c) && !strings.ContainsRune("_-./", rune(c)) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// wholeTerm is the term of a word, that of the whole of a compound; "" if it is a
// word that says nothing.
func wholeTerm(word string) (whole string) {
	for term := range bytes.FieldsSeq(embed.AppendTerms(nil, word)) {
		if len(term) > len(whole) {
			whole = string(term)
		}
	}
	return whole
}

// meantWord is the word that was meant by a typed one: of those that memory has
// the one in most records, the first of equal ones; "" if it has none.
func meantWord(ctx context.Context, index Index, typed string) (meant string, err error) {
	near := nearWords(typed)
	terms, asked := make([]string, len(near)), map[string]bool{}
	for i, word := range near {
		terms[i] = wholeTerm(word)
		asked[terms[i]] = true
	}
	known, err := index.Known(ctx, wholeTerm(typed), asked)
	if err != nil {
		return "", fmt.Errorf("look for words like %q: %w", typed, err)
	}
	most := 0
	for i, word := range near {
		if n := known[terms[i]]; n > most {
			meant, most = word, n
		}
	}
	return meant, nil
}

// nearWords are the words that one slip behind the first letter may have made of
// another: swaps first, then letters too many, other ones and missing ones.
func nearWords(typed string) (list []string) {
	for i := 1; i+1 < len(typed); i++ {
		if isLetter(typed[i]) && isLetter(typed[i+1]) && typed[i] != typed[i+1] {
			list = append(list, typed[:i]+typed[i+1:i+2]+typed[i:i+1]+typed[i+2:])
		}
	}
	for i := 1; i < len(typed); i++ {
		if isLetter(typed[i]) {
			list = append(list, typed[:i]+typed[i+1:])
		}
	}
	for i := 1; i <= len(typed); i++ {
		for c := byte('a'); c <= 'z'; c++ {
			if i < len(typed) && isLetter(typed[i]) && typed[i]|0x20 != c {
				list = append(list, typed[:i]+string(rune(c))+typed[i+1:])
			}
		}
	}
	for i := 1; i <= len(typed); i++ {
		for c := byte('a'); c <= 'z'; c++ {
			list = append(list, typed[:i]+string(rune(c))+typed[i:])
		}
	}
	return list
}

// Known walks the words that begin as a term does.
func (x *embeddedIndex) Known(ctx context.Context, term string, near map[string]bool) (map[string]int, error) {
	words, err := x.wordIndex(ctx)
	if err != nil {
		return nil, err
	}
	return words.countKnown(ctx, term, near)
}

// countKnown counts the records of those of some terms that begin as another term
// does: with its first letter, or in a large memory with its first two or three. If
// too many begin even so, it finds none: a question may not take long for it.
func (x *wordIndex) countKnown(ctx context.Context, term string, near map[string]bool) (map[string]int, error) {
	known := map[string]int{}
	for n := 1; n <= min(len(term), 3); n++ {
		pages, err := x.pagesOf(ctx, term[:n])
		if err != nil {
			return nil, err
		}
		if pages > spellingPages {
			continue
		}
		for _, s := range x.segments {
			if err := x.countIn(ctx, s, []byte(term[:n]), near, known); err != nil {
				return nil, err
			}
		}
		break
	}
	return known, nil
}

// pagesOf counts the pages in which a term begins that begins so.
func (x *wordIndex) pagesOf(ctx context.Context, beginning string) (pages int, err error) {
	err = x.q.QueryRowContext(ctx, x.sql("SELECT count(*) FROM word_index WHERE term>=? AND term<?"), []byte(beginning), []byte(beginning+"\xff")).Scan(&pages)
	if err != nil {
		return 0, fmt.Errorf("count words: %w", classifyError(err))
	}
	return pages, nil
}

// countIn counts those of a segment.
func (x *wordIndex) countIn(ctx context.Context, s wordSegment, beginning []byte, near map[string]bool, known map[string]int) error {
	r := segmentReader{lexicon: x.lexicon, q: x.q, segment: s, batch: 16}
	records, size, _, err := r.seek(ctx, beginning)
	for ; err == nil && bytes.HasPrefix(r.term, beginning); records, size, err = r.next(ctx) {
		if near[string(r.term)] {
			known[string(r.term)] += int(records)
		}
		if err := r.skip(ctx, size); err != nil {
			return err
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
