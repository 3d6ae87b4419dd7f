package words

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// Typing errors. Correcting words at once, and not only if nothing fits, costs 0.1
// points of recall@5 on the conversations, and 0.3 if known words were corrected too.
// The bounds have no figure: they keep a correction to 4 ms.
const (
	shortestTyped = 5 // letters: shorter words have too many others beside them
	longestTyped  = 40
	MostTyped     = 3 // words of a question
	// spellingPages bounds what is read to find them, in pages of 4 KB.
	spellingPages = 256
)

// IsTyped says whether a word may be one that was typed wrongly.
func IsTyped(word string) bool {
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

// WholeTerm is the term of a word, that of the whole of a compound; "" if it is a
// word that says nothing.
func WholeTerm(word string) (whole string) {
	for term := range bytes.FieldsSeq(embed.AppendTerms(nil, word)) {
		if len(term) > len(whole) {
			whole = string(term)
		}
	}
	return whole
}

// Near are the words that one slip behind the first letter may have made of
// another: swaps first, then letters too many, other ones and missing ones.
func Near(typed string) (list []string) {
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

// CountKnown counts the records of those of some terms that begin as another term
// does: with its first letter, or in a large memory with its first two or three. If
// too many begin even so, it finds none: a question may not take long for it.
func (x *Index) CountKnown(ctx context.Context, term string, near map[string]bool) (map[string]int, error) {
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
func (x *Index) pagesOf(ctx context.Context, beginning string) (pages int, err error) {
	err = x.q.QueryRowContext(ctx, x.SQL("SELECT count(*) FROM word_index WHERE term>=? AND term<?"), []byte(beginning), []byte(beginning+"\xff")).Scan(&pages)
	if err != nil {
		return 0, fmt.Errorf("count words: %w", database.Classify(err))
	}
	return pages, nil
}

// countIn counts those of a segment.
func (x *Index) countIn(ctx context.Context, s wordSegment, beginning []byte, near map[string]bool, known map[string]int) error {
	r := segmentReader{Lexicon: x.Lexicon, q: x.q, segment: s, batch: 16}
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
