package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// The tables are made by numbered files; each is carried out once. A released
// one is never changed: what is to be different is another file.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// setUpLock keeps two hosts from making the tables at the same time.
const setUpLock = 7310575183871968115

// migration is one of those files.
type migration struct {
	version int
	name    string
	text    string
}

// migrations lists them, in their order.
func migrations() ([]migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []migration
	for _, path := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "migrations/"), ".sql")
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != len(list)+1 {
			return nil, fmt.Errorf("%s is not number %d", path, len(list)+1)
		}
		text, err := migrationFiles.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, migration{version, name, string(text)})
	}
	return list, nil
}

// checkTables finds out which version the tables have. If that was asked for it
// makes what is missing.
func (m *Memory) checkTables(ctx context.Context) error {
	all, err := migrations()
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
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
	return m.migrate(ctx, all)
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
func (m *Memory) migrate(ctx context.Context, all []migration) (err error) {
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
	for _, step := range all[min(m.version, len(all)):] {
		if err := m.carryOut(ctx, step); err != nil {
			return fmt.Errorf("set up %s: %w", step.name, err)
		}
		m.version = step.version
	}
	return nil
}

func (m *Memory) carryOut(ctx context.Context, step migration) error {
	return m.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if step.version == 1 {
			const first = `CREATE SCHEMA IF NOT EXISTS ` + schemaName + `;
				CREATE TABLE IF NOT EXISTS ` + schemaName + `.migrations (version integer PRIMARY KEY, name text NOT NULL, at timestamptz NOT NULL DEFAULT now())`
			if _, err := tx.Exec(ctx, first); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "SET LOCAL search_path = "+schemaName+", "+strings.TrimSuffix(m.vector, ".")+", pg_temp"); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, step.text); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO migrations (version, name) VALUES ($1, $2)", step.version, step.name)
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
