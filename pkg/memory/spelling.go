package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/rank"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// A word that was said nowhere may be one that was, typed wrongly: two letters
// changed places, one is missing, one is too many, one is another. Only words of
// English letters that the built-in embedder does not know are looked at, names and
// paths too; a first letter is seldom wrong; and a number or an id means what it
// says (docs/recall.md, Typing errors).

// correctSpelling puts words that were said in the place of words of the query that
// were not, as far as those may be replaced. It reports whether there were any.
func (r *recall) correctSpelling(ctx context.Context, may func(word string) bool) (corrected bool, err error) {
	english, knows := r.embedder.(rank.Meanings)
	if !knows || !r.byWords() {
		return false, nil
	}
	said := strings.Fields(r.query.Text)
	unknown, err := r.unknownWords(ctx, english, said, may)
	if err != nil {
		return false, err
	}
	for _, at := range unknown[:min(len(unknown), words.MostTyped)] {
		typed := rank.TrimmedWord(said[at])
		meant, err := meantWord(ctx, r.index, r.query, typed)
		if err != nil {
			return false, err
		}
		if meant == "" {
			continue
		}
		corrected, said[at] = true, strings.Replace(said[at], typed, meant, 1)
		r.corrected = append(r.corrected, fmt.Sprintf("nobody said %q: looked for %q", typed, meant))
	}
	if corrected { // all is asked and counted again
		r.query.Text = strings.Join(said, " ")
		r.words, r.known = r.query.Text, embeddedQuery{}
	}
	return corrected, nil
}

// unknownWords are the places of the words that are no English, may be typed
// wrongly, and stand in no record.
func (r *recall) unknownWords(ctx context.Context, english rank.Meanings, said []string, may func(word string) bool) (places []int, err error) {
	var at []int
	var asked []string
	for i, word := range said {
		word = rank.TrimmedWord(word)
		term := words.WholeTerm(word)
		if term == "" || !words.IsTyped(word) || !may(word) {
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

// meantWord is the word that was meant by a typed one in a question: of those that
// memory has the one in most records, the first of equal ones; "" if it has none.
func meantWord(ctx context.Context, index Index, of Query, typed string) (meant string, err error) {
	near := words.Near(typed)
	terms, asked := make([]string, len(near)), map[string]bool{}
	for i, word := range near {
		terms[i] = words.WholeTerm(word)
		asked[terms[i]] = true
	}
	known, err := index.Known(ctx, words.WholeTerm(typed), asked)
	if err != nil {
		return "", fmt.Errorf("look for words like %q: %w", typed, err)
	}
	most := 0
	for i, word := range near {
		if n := known[terms[i]]; n > most {
			said, err := mayTell(ctx, index, of, terms[i])
			if err != nil {
				return "", err
			}
			if said {
				meant, most = word, n
			}
		}
	}
	return meant, nil
}

// mayTell reports whether a word was said by those whose records the question is
// about: to whom only these may be shown, no word of others is told either.
func mayTell(ctx context.Context, index Index, of Query, term string) (bool, error) {
	whose := Query{Runtime: of.Runtime, Agent: of.Agent, Superseded: true}
	if whose.Runtime == "" && whose.Agent == "" {
		return true, nil
	}
	keys, err := index.Words(ctx, whose, Match{Any: []string{term}}, 1)
	return len(keys) > 0, err
}

// Known walks the words that begin as a term does.
func (x *embeddedIndex) Known(ctx context.Context, term string, near map[string]bool) (map[string]int, error) {
	index, err := x.wordIndex(ctx)
	if err != nil {
		return nil, err
	}
	return index.CountKnown(ctx, term, near)
}
