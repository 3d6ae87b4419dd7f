package memory

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// identityState is the row of state that has the identity.
const identityState = "identity"

// Identity tells this memory from every other, whatever their hosts are called:
// 32 hexadecimal digits, made by chance when it is first shared. It is kept in the
// memory, so a backup has the same one, and a memory that is made anew another.
// "" is returned if there is none yet.
func (s identity) Identity(ctx context.Context) (string, error) {
	return sharing(s).shareNote(ctx, identityState)
}

// MakeIdentity returns the identity, and makes it if there is none yet.
func (s identity) MakeIdentity(ctx context.Context) (identity string, err error) {
	if identity, err = s.Identity(ctx); err != nil || identity != "" {
		return identity, err
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	err = sharing(s).note(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO state (name, value) VALUES (?, ?)", identityState, hex.EncodeToString(random[:])); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, "SELECT value FROM state WHERE name=?", identityState).Scan(&identity)
	})
	return identity, err
}

// KnownIDs are the ids of all records that this memory has or had: those that are
// here, those that a server is noted to have from here, and what was forgotten.
func (s identity) KnownIDs(ctx context.Context, server string) (map[string]bool, error) {
	noted, err := database.HasTable(ctx, s.db, "shared")
	if err != nil {
		return nil, err
	}
	query, args := "SELECT id FROM records UNION ALL SELECT id FROM tombstones", []any(nil)
	if noted {
		query, args = query+" UNION ALL SELECT id FROM shared WHERE server=?", []any{server}
	}
	ids, err := database.Strings(ctx, s.db, query, args...)
	return database.Set(ids), err
}
