package fakegoosedb

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

//go:embed schema.sql
var schema string

// Write makes a database of a schema, 15 to 17, in which these statements were run.
func Write(path string, version int, statements ...string) error {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=journal_mode(wal)&_pragma=foreign_keys(1)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	ctx := context.Background()
	_, err = db.ExecContext(ctx, schema)
	if err == nil {
		_, err = db.ExecContext(ctx, "INSERT INTO schema_version (version) VALUES (?)", version)
	}
	const delegating = 17
	if err == nil && version < delegating {
		_, err = db.ExecContext(ctx, "DROP INDEX idx_sessions_parent; ALTER TABLE sessions DROP COLUMN parent_session_id; ALTER TABLE sessions DROP COLUMN parent_delegation")
	}
	for _, statement := range statements {
		if err == nil {
			_, err = db.ExecContext(ctx, statement)
		}
	}
	return errors.Join(err, db.Close())
}
