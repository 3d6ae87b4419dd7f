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

// ToVersion5 makes of a memory one of version 5: its words are in segments without
// checksums.
func (s *Store) ToVersion5(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `UPDATE word_pages SET data=CAST(substr(data, 5) AS BLOB); ALTER TABLE word_gone DROP COLUMN sum; PRAGMA user_version=5;`)
	return err
}

// ToVersion4 makes of a memory one of version 4: its words are in SQLite's
// full-text index.
func (s *Store) ToVersion4(ctx context.Context) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		const toVersion4 = `DROP TABLE word_segments; DROP TABLE word_pages; DROP TABLE word_index; DROP TABLE word_gone;
CREATE VIRTUAL TABLE words USING fts5 (terms, content='', contentless_delete=1, tokenize="ascii tokenchars '_-./\:@'");
INSERT INTO words (words, rank) VALUES ('hashsize', 8388608);
PRAGMA user_version=4;`
		if _, err := tx.ExecContext(ctx, toVersion4); err != nil {
			return err
		}
		for after := int64(0); ; {
			list, rows, err := s.readAfter(ctx, tx, after)
			if err != nil || len(list) == 0 {
				return err
			}
			for i, x := range list {
				if _, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, terms) VALUES (?, ?)", rows[i], string(embed.AppendTerms(nil, x.Text))); err != nil {
					return err
				}
			}
			after = rows[len(rows)-1]
		}
	})
}
