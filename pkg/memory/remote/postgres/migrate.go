package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

//go:embed schema.sql
var schema string

// migrations make the tables, each carried out once and in this order: so many
// have been is the version of the tables. A released one is never changed; what
// is to be different is another one, behind it.
func migrations() []string { return []string{schema} }

// longest is how long setting up and indexing may take: minutes for a million
// records.
const longest = time.Hour

// setUpLock keeps two hosts from making the tables at the same time.
const setUpLock = 7310575183871968115

// checkTables finds out which version the tables have. If it is to set them up it
// makes what is missing; pgvector is the schema that this is in.
func (m *Memory) checkTables(ctx context.Context, pgvector string) (err error) {
	if err := m.readVersion(ctx); err != nil {
		return err
	}
	for m.options.SetUp && m.version < len(m.migrations) {
		before := m.version
		failed := m.carryOut(ctx, before+1, pgvector)
		if err := m.readVersion(ctx); err != nil {
			return err
		}
		if m.version == before { // else another host was faster
			return fmt.Errorf("set up version %d of the tables: %w", before+1, failed)
		}
	}
	switch all := len(m.migrations); {
	case m.version > all:
		return fmt.Errorf("%w: its tables have version %d, this sessctl knows %d", remote.ErrNewerSchema, m.version, all)
	case m.version == 0:
		return fmt.Errorf("%w: the database has no tables of sessctl", remote.ErrNotSetUp)
	case m.version < all:
		return fmt.Errorf("%w: its tables have version %d, this sessctl needs %d", remote.ErrOlderSchema, m.version, all)
	}
	return nil
}

// readVersion reads the version of the tables, 0 if there are none.
func (m *Memory) readVersion(ctx context.Context) error {
	err := m.transact(ctx, readOnly, func(tx pgx.Tx) error {
		var there, barred bool
		var role string
		err := tx.QueryRow(ctx, `SELECT barred, CASE WHEN barred THEN false ELSE to_regclass($2) IS NOT NULL END, current_user
			FROM (SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1 AND NOT has_schema_privilege(oid, 'USAGE')) AS barred) b`, schemaName, schemaName+".migrations").Scan(&barred, &there, &role)
		m.version = 0
		switch {
		case err == nil && barred:
			return fmt.Errorf("%w (GRANT sessctl_host, sessctl_reader TO %s)", remote.ErrNoRights, quoted(role))
		case err != nil || !there:
			return err
		}
		return tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM migrations").Scan(&m.version)
	})
	if err != nil {
		return fmt.Errorf("read the version of the tables: %w", err)
	}
	return nil
}

// carryOut brings the tables to a version from the one before it. It is one
// message, and so one transaction that waits for nobody who sends it.
func (m *Memory) carryOut(ctx context.Context, version int, pgvector string) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	statements := fmt.Sprintf(`SET LOCAL search_path = %[1]s, %[2]s, pg_temp; SET LOCAL lock_timeout = %[3]d; SELECT pg_advisory_xact_lock(%[4]d);
		CREATE SCHEMA IF NOT EXISTS %[1]s; CREATE TABLE IF NOT EXISTS %[1]s.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
		INSERT INTO migrations (version) VALUES (%[5]d);
		`, schemaName, pgvector, m.options.Timeout.Milliseconds(), int64(setUpLock), version) + m.migrations[version-1]
	_, err := m.conn.Exec(ctx, statements)
	return classify(err)
}
