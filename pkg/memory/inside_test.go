package memory

import (
	"bytes"
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/sessctl/sessctl/pkg/embed"
)

// SetWords gives a record other words than its text has, as damage would.
func (s *Store) SetWords(ctx context.Context, record int64, terms string) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		w := newWordWriter(ctx, tx)
		if err := w.remove(record); err != nil {
			return err
		}
		if err := w.addTerms(record, []byte(terms)); err != nil {
			return err
		}
		return w.flush()
	})
}

// addTerms is add of terms, each followed by a space.
func (w *wordWriter) addTerms(record int64, terms []byte) error {
	v := w.vocabulary
	if v == nil {
		v = embed.NewVocabulary()
	}
	words := readWords{vocabulary: v}
	times := map[int32]uint32{}
	for term := range bytes.FieldsSeq(terms) {
		times[v.Number(term)]++
	}
	for _, number := range slices.Sorted(maps.Keys(times)) {
		words.counts = append(words.counts, embed.TermCount{Number: number, Times: times[number]})
	}
	words.names = v.Terms()
	return w.post(record, words)
}
