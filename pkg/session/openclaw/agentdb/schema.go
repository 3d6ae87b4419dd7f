package agentdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// The versions of the schema that are read. 14 is the first with session_nodes
// and session_windows; 2026.8.1, the first stable one, has 19 and 2026.9.6 has
// 23 (docs/dev/formats.md, "openclaw database").
const (
	oldestSchema = 14
	newestSchema = 23
)

// errSchema is returned when a database lacks a table or column that its
// version must have.
var errSchema = errors.New("not the schema of an agent's database")

// columns are those of a table that some versions lack.
type columns struct {
	zstd  bool // transcript_events.event_zstd and event_utf8_bytes
	model bool // session_windows.model
	cold  bool // the table session_transcript_cold_archives
	main  bool // session_key_contract.main_key

	deleted bool // the table session_transcript_archives
}

// required is what every version that is read has.
var required = map[string][]string{
	"session_nodes":     {"session_key", "current_session_id", "entry_json"},
	"session_windows":   {"session_id", "session_key"},
	"transcript_events": {"session_id", "seq", "event_json", "created_at"},
}

// checkSchema checks the version and finds out what there is.
func (d *Database) checkSchema(ctx context.Context) error {
	version, err := d.version(ctx)
	if err != nil {
		return err
	}
	if version < oldestSchema || version > newestSchema {
		return sqlitefile.UnknownSchema(fmt.Sprintf("its schema has version %d, this tool knows %d to %d", version, oldestSchema, newestSchema))
	}
	var encoding string
	if err := d.conn.QueryRowContext(ctx, "PRAGMA encoding").Scan(&encoding); err != nil {
		return fmt.Errorf("read its encoding: %w", err)
	}
	if encoding != "UTF-8" {
		return fmt.Errorf("%w: its texts are %s", errSchema, encoding)
	}
	for table, names := range required {
		if err := d.requires(ctx, table, names...); err != nil {
			return err
		}
	}
	return d.findColumns(ctx)
}

// version is the larger of the two numbers that say it: user_version stays 0
// in databases that were made by hand.
func (d *Database) version(ctx context.Context) (int, error) {
	var meta sql.NullInt64
	var user int
	if err := d.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&user); err != nil {
		return 0, fmt.Errorf("read the version of its schema: %w", err)
	}
	err := d.conn.QueryRowContext(ctx, "SELECT max(schema_version) FROM schema_meta WHERE role = 'agent'").Scan(&meta)
	if user >= oldestSchema { // one that was made by hand has only the table
		err = d.Spare(err)
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of its schema: %w", err)
	}
	return max(user, int(meta.Int64)), nil
}

func (d *Database) requires(ctx context.Context, table string, names ...string) error {
	for _, name := range names {
		has, err := d.has(ctx, table, name)
		if err != nil {
			return err
		}
		if !has {
			return fmt.Errorf("%w: there is no %s.%s", errSchema, table, name)
		}
	}
	return nil
}

func (d *Database) findColumns(ctx context.Context) (err error) {
	find := func(found *bool, table, name string) {
		if err == nil {
			*found, err = d.has(ctx, table, name)
		}
	}
	find(&d.columns.zstd, "transcript_events", "event_zstd")
	find(&d.columns.model, "session_windows", "model")
	find(&d.columns.cold, "session_transcript_cold_archives", "archive_name")
	find(&d.columns.main, "session_key_contract", "main_key")
	find(&d.columns.deleted, "session_transcript_archives", "archive_name")
	if err == nil && d.columns.zstd {
		err = d.requires(ctx, "transcript_events", "event_utf8_bytes")
	}
	if err == nil && d.columns.deleted {
		err = d.requires(ctx, "session_transcript_archives", "session_id")
	}
	if err == nil && d.columns.cold {
		err = d.requires(ctx, "session_transcript_cold_archives", "session_id", "event_count")
	}
	return err
}

func (d *Database) has(ctx context.Context, table, column string) (bool, error) {
	var n int
	err := d.conn.QueryRowContext(ctx, "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?", table, column).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("read its schema: %w", err)
	}
	return n > 0, nil
}
