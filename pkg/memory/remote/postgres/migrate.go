package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

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

// checkTables finds out which version the tables have. If that was asked for it
// makes what is missing.
func (m *Memory) checkTables(ctx context.Context) (err error) {
	all := m.migrations
	m.version, err = m.tableVersion(ctx)
	switch {
	case err != nil:
		return err
	case m.version > len(all):
		return fmt.Errorf("%w: its tables have version %d, this sessctl knows %d", remote.ErrNewerSchema, m.version, len(all))
	case m.version == len(all):
		return nil
	case !m.options.SetUp && m.version == 0:
		return fmt.Errorf("%w: the database has no tables of sessctl", remote.ErrNotSetUp)
	case !m.options.SetUp:
		return fmt.Errorf("%w: its tables have version %d, this sessctl needs %d", remote.ErrOlderSchema, m.version, len(all))
	}
	return m.migrate(ctx)
}

// tableVersion is 0 if there are none.
func (m *Memory) tableVersion(ctx context.Context) (version int, err error) {
	err = m.conn.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&version)
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
func (m *Memory) migrate(ctx context.Context) (err error) {
	if _, err := m.conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(setUpLock)); err != nil {
		return fmt.Errorf("set up: %w", classify(err))
	}
	defer func() {
		if !m.conn.IsClosed() {
			_, _ = m.conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(setUpLock)) // it ends with the connection
		}
	}()
	if m.version, err = m.tableVersion(ctx); err != nil { // another host may have been faster
		return err
	}
	for m.version < len(m.migrations) {
		if err := m.carryOut(ctx, m.version+1); err != nil {
			return fmt.Errorf("set up version %d of the tables: %w", m.version+1, err)
		}
		m.version++
	}
	return nil
}

// carryOut brings the tables to a version from the one before it.
func (m *Memory) carryOut(ctx context.Context, version int) error {
	return m.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if version == 1 {
			const first = `CREATE SCHEMA IF NOT EXISTS ` + schemaName + `;
				CREATE TABLE IF NOT EXISTS ` + schemaName + `.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())`
			if _, err := tx.Exec(ctx, first); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "SET LOCAL search_path = "+schemaName+", "+strings.TrimSuffix(m.vector, ".")+", pg_temp"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, m.migrations[version-1]); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO migrations (version) VALUES ($1)", version)
		return err
	})
}

// inTransaction runs f in one transaction: all of it or nothing.
func (m *Memory) inTransaction(ctx context.Context, o pgx.TxOptions, f func(tx pgx.Tx) error) error {
	tx, err := m.conn.BeginTx(ctx, o)
	if err != nil {
		return classify(err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // the error says more
		return classify(err)
	}
	return classify(tx.Commit(ctx))
}
