package memory

import (
	"context"
	"database/sql"
)

// SetWords gives a record other words than its text has, as damage would.
func (s *Store) SetWords(ctx context.Context, record int64, terms string) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		w := recordWords().NewWriter(ctx, tx)
		if err := w.Remove(record); err != nil {
			return err
		}
		if err := w.AddTerms(record, []byte(terms)); err != nil {
			return err
		}
		return w.Flush()
	})
}
