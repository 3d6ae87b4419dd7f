package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

//go:embed schema.sql
var schema string

// migrations make the tables, each carried out once and in this order: so many
// have been is the version of the tables. A released one is never changed; what
// is to be different is another one, behind it.
func migrations() []string { return []string{schema} }

// setUpLock keeps two hosts from making the tables at the same time.
const setUpLock = 7310575183871968115

// tables are those of the shared memory.
type tables struct {
	conn       *pgx.Conn
	migrations []string // that make them
	version    int
}

// check finds out which version the tables have. If it is to set them up it makes
// what is missing; pgvector is the schema that this is in.
func (t *tables) check(ctx context.Context, setUp bool, pgvector string) (err error) {
	all := t.migrations
	t.version, err = t.readVersion(ctx)
	switch {
	case err != nil:
		return err
	case t.version > len(all):
		return fmt.Errorf("%w: its tables have version %d, this sessctl knows %d", remote.ErrNewerSchema, t.version, len(all))
	case t.version == len(all):
		return nil
	case !setUp && t.version == 0:
		return fmt.Errorf("%w: the database has no tables of sessctl", remote.ErrNotSetUp)
	case !setUp:
		return fmt.Errorf("%w: its tables have version %d, this sessctl needs %d", remote.ErrOlderSchema, t.version, len(all))
	}
	return t.migrate(ctx, pgvector)
}

// readVersion is 0 if there are none.
func (t *tables) readVersion(ctx context.Context) (version int, err error) {
	err = t.conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&version)
	var known *pgconn.PgError
	if errors.As(err, &known) && (known.Code == "42P01" || known.Code == "3F000") {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the tables: %w", classify(err))
	}
	return version, nil
}

// migrate carries out what is missing, one host at a time.
func (t *tables) migrate(ctx context.Context, pgvector string) (err error) {
	if _, err := t.conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(setUpLock)); err != nil {
		return fmt.Errorf("set up: %w", classify(err))
	}
	defer func() {
		if !t.conn.IsClosed() {
			_, _ = t.conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(setUpLock)) // it ends with the connection
		}
	}()
	if t.version, err = t.readVersion(ctx); err != nil { // another host may have been faster
		return err
	}
	for t.version < len(t.migrations) {
		if err := t.carryOut(ctx, t.version+1, pgvector); err != nil {
			return fmt.Errorf("set up version %d of the tables: %w", t.version+1, err)
		}
		t.version++
	}
	return nil
}

// carryOut brings the tables to a version from the one before it.
func (t *tables) carryOut(ctx context.Context, version int, pgvector string) error {
	return inTransaction(ctx, t.conn, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if version == 1 {
			const first = `CREATE SCHEMA IF NOT EXISTS ` + schemaName + `;
				CREATE TABLE IF NOT EXISTS ` + schemaName + `.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())`
			if _, err := tx.Exec(ctx, first); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "SET LOCAL search_path = "+schemaName+", "+pgvector+", pg_temp"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, t.migrations[version-1]); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO migrations (version) VALUES ($1)", version)
		return err
	})
}

// inTransaction runs f in one transaction: all of it or nothing.
func inTransaction(ctx context.Context, conn *pgx.Conn, o pgx.TxOptions, f func(tx pgx.Tx) error) error {
	tx, err := conn.BeginTx(ctx, o)
	if err != nil {
		return classify(err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // the error says more
		return classify(err)
	}
	return classify(tx.Commit(ctx))
}
