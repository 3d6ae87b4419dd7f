package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// headsTable is where heads of ledgers are. It is a table of its own, outside of the
// shared memory: a role that may only insert and select is enough for a host, and
// nothing that is pushed, migrated or forgotten touches it.
const headsTable = "public.sessctl_heads"

// Heads are signed heads of ledgers on a server: a row each, which nothing replaces.
type Heads struct {
	URL string // as in [Options]
	As  string // name of the ledger
}

// with connects for one question.
func (h Heads) with(ctx context.Context, ask func(*pgx.Conn) error) error {
	conn, err := connect(ctx, h.URL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return ask(conn)
}

// Address says where the server is, without a password.
func (h Heads) Address() string {
	config, err := pgx.ParseConfig(h.URL)
	if err != nil {
		return "postgres"
	}
	return "postgres:" + addressOf(config)
}

// undefinedTable is the code of a table that there is not.
const undefinedTable = "42P01"

// Last is the head with the most entries. It is fs.ErrNotExist if there is none.
func (h Heads) Last(ctx context.Context) (text []byte, err error) {
	err = h.with(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT head FROM "+headsTable+" WHERE ledger = $1 ORDER BY size DESC LIMIT 1", h.As).Scan(&text)
	})
	var refused *pgconn.PgError
	if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &refused) && refused.Code == undefinedTable {
		return nil, fmt.Errorf("%s: %w", headsTable, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read the head: %w", classify(err))
	}
	return text, nil
}

// Put adds the head of a ledger of so many entries. The table is made if there is none.
func (h Heads) Put(ctx context.Context, size int64, text []byte) error {
	const add = "INSERT INTO " + headsTable + " (ledger, size, head) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
	err := h.with(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, add, h.As, size, string(text))
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != undefinedTable {
			return err
		}
		if _, err := conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+headsTable+" (ledger text, size bigint, head text NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (ledger, size))"); err != nil {
			return err
		}
		_, err = conn.Exec(ctx, add, h.As, size, string(text))
		return err
	})
	if err != nil {
		return fmt.Errorf("keep the head: %w", classify(err))
	}
	return nil
}
