package memory

import (
	"context"
	"database/sql"
)

// SetWords gives a record other words than its text has, as damage would.
func (s *Store) SetWords(ctx context.Context, record int64, terms string) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		w := recordWords().newWordWriter(ctx, tx)
		if err := w.remove(record); err != nil {
			return err
		}
		if err := w.addTerms(record, []byte(terms)); err != nil {
			return err
		}
		return w.flush()
	})
}
