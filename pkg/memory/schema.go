package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// prepare checks the version, makes the tables of a new database, and brings
// one of an earlier version up to date. One that is only to be read is read as
// it is.
func (s *Store) prepare(ctx context.Context) (err error) {
	s.schema, err = checkVersion(ctx, s.db)
	switch {
	case err != nil:
		return err
	case s.readOnly && s.schema == 0:
		return ErrEmpty
	case s.readOnly:
		return nil
	case s.schema == schemaVersion:
		return s.giveBack(ctx)
	case s.schema != 0:
		return s.upgrade(ctx)
	}
	if err := s.setUp(ctx); err != nil {
		return err
	}
	return s.create(ctx)
}

// setUp sets what holds for the whole of a new database. SQLite does not wait for
// another process there: it refuses at once what both would have to wait for.
func (s *Store) setUp(ctx context.Context) (err error) {
	for end := time.Now().Add(lockPatience); ; {
		for _, pragma := range []string{fmt.Sprintf("PRAGMA page_size=%d", pageSize), "PRAGMA journal_mode=WAL"} {
			if _, err = s.db.ExecContext(ctx, pragma); err != nil {
				err = fmt.Errorf("set up: %w", classifyError(err))
				break
			}
		}
		if !errors.Is(err, ErrBusy) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

// lockPatience is how long another process is waited for, as long as SQLite does
// (busy_timeout), and lockPause how long until it is asked again.
const (
	lockPatience = 10 * time.Second
	lockPause    = 20 * time.Millisecond
)

// create makes the tables.
func (s *Store) create(ctx context.Context) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) (err error) {
		// Another process may have been faster.
		if s.schema, err = checkVersion(ctx, tx); err != nil || s.schema != 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, schema+markVersion); err != nil {
			return err
		}
		s.schema, s.created = schemaVersion, true
		if s.rebuild {
			if _, err := tx.ExecContext(ctx, "INSERT INTO state (name, value) VALUES (?, '')", incomplete); err != nil {
				return err
			}
		}
		_, err = s.rememberForgotten(ctx, tx)
		return err
	})
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// checkVersion returns the version of the database, 0 if it is new. If it is
// not ours, or newer, the error says so.
func checkVersion(ctx context.Context, q querier) (version int, err error) {
	var application, tables int
	err = q.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&version, &application, &tables)
	switch {
	case err != nil:
		return 0, classifyError(err)
	case application == applicationID && version > schemaVersion:
		return 0, fmt.Errorf("%w (schema %d, this one knows %d)", ErrNewerSchema, version, schemaVersion)
	case application == applicationID && version > 0:
		return version, nil
	case application != 0 || version != 0 || tables != 0:
		return 0, fmt.Errorf("%w: not a memory of sessctl", ErrCorrupt)
	}
	return 0, nil
}

// schemaVersion is the user_version of the database; a newer one is refused.
// Whoever changes the schema of a released version raises it and writes the
// way from the old one to the new.
const schemaVersion = 6

// applicationID marks the file as ours ("sess").
const applicationID = 0x73657373

// markVersion are the statements that mark a database as one of this version.
const markVersion = "PRAGMA user_version = 6; PRAGMA application_id = 1936028531;"

// pageSize in bytes is that of a new database: each table and index has a page
// at least, and most have one that is nearly empty (docs/dev/decisions.md D27).
const pageSize = 4096

// Texts are kept apart from what is filtered by, so that a filter does not
// have to step over them. The words of wordTables are those of the text as the
// built-in embedder sees them: stemmed, identifiers whole and in parts, pairs of
// CJK characters.
const schema = recordTables + wordTables + `
CREATE TABLE models (
  fingerprint TEXT    PRIMARY KEY,
  name        TEXT    NOT NULL, -- embed.Model.String
  dim         INTEGER NOT NULL
) STRICT;
-- tombstones: what was forgotten; where it stood finds it again however the
-- source is cut then
CREATE TABLE tombstones (
  id         TEXT    PRIMARY KEY,
  at         INTEGER NOT NULL, -- epoch milliseconds
  archive    TEXT    NOT NULL,
  first_byte INTEGER NOT NULL, -- both 0 if it was no piece of the log
  end_byte   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_archive ON tombstones (archive);
-- rebuilt: sessions that a rebuild which has not ended yet is done with
CREATE TABLE rebuilt (
  runtime TEXT NOT NULL,
  agent   TEXT NOT NULL,
  session TEXT NOT NULL,
  mark    TEXT NOT NULL, -- what it was made of
  PRIMARY KEY (runtime, agent, session)
) STRICT, WITHOUT ROWID;
` + stateTable

// recordTables are those that version 3 changed, textTable and vectorTables included. What the
// records of a session have in common is kept once; the view records is what all
// queries read.
const recordTables = `
CREATE TABLE sources (
  source       INTEGER PRIMARY KEY,
  category     TEXT NOT NULL,
  runtime      TEXT NOT NULL,
  agent        TEXT NOT NULL,
  session      TEXT NOT NULL,
  key          TEXT NOT NULL,
  archive      TEXT NOT NULL,
  archive_path TEXT NOT NULL,
  branch       TEXT NOT NULL
) STRICT;
CREATE INDEX sources_by_session ON sources (agent, runtime, session);
CREATE TABLE record_rows (
  record       INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
  source       INTEGER NOT NULL REFERENCES sources (source),
  importance   REAL    NOT NULL,
  created_at   INTEGER NOT NULL, -- epoch milliseconds of the message
  first_line   INTEGER NOT NULL,
  last_line    INTEGER NOT NULL,
  first_byte   INTEGER NOT NULL,
  end_byte     INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  sum          INTEGER NOT NULL -- checksum of the record and its text, see sumOf
) STRICT;
CREATE INDEX record_rows_by_source ON record_rows (source);
CREATE INDEX record_rows_by_time ON record_rows (created_at);
-- a left join: where nothing of a source is asked for, none is read
CREATE VIEW records AS SELECT r.record AS rowid, r.id, s.category, r.importance, r.created_at, s.runtime, s.agent, s.session, s.key,
  s.archive, s.archive_path, r.first_line, r.last_line, r.first_byte, r.end_byte, s.branch, r.position, r.sum
  FROM record_rows r LEFT JOIN sources s ON s.source=r.source;
-- pending: every record has a vector of each model, or a row here
CREATE TABLE pending (
  model  TEXT    NOT NULL REFERENCES models (fingerprint),
  agent  TEXT    NOT NULL,
  record INTEGER NOT NULL REFERENCES record_rows (record) ON DELETE CASCADE,
  tries  INTEGER NOT NULL,
  reason TEXT    NOT NULL, -- why the last try failed
  PRIMARY KEY (model, agent, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_by_record ON pending (record);
` + textTable + vectorTables

const textTable = `
CREATE TABLE texts (
  record INTEGER PRIMARY KEY REFERENCES record_rows (record) ON DELETE CASCADE,
  text   ANY     NOT NULL -- compressed, see keptText
) STRICT;
`

// vectorTables are those that version 4 changed: a vector names its file by a
// number. The view vectors is what queries read; its left join is left out where
// nothing of a file is asked for.
const vectorTables = `
-- files: one of vectors an agent and model
CREATE TABLE files (
  file    INTEGER PRIMARY KEY,
  model   TEXT    NOT NULL REFERENCES models (fingerprint),
  agent   TEXT    NOT NULL,
  name    TEXT    NOT NULL, -- of the file, in the agent's directory
  slots   INTEGER NOT NULL, -- where the rows end that may have a name, see vectors
  rows    INTEGER NOT NULL, -- how many there are
  stamp   TEXT    NOT NULL, -- of the file when it was last written or checked
  checked INTEGER NOT NULL, -- epoch milliseconds of the last check of every row
  UNIQUE (model, agent)
) STRICT;
CREATE TABLE vector_rows (
  file   INTEGER NOT NULL REFERENCES files (file) ON DELETE CASCADE,
  slot   INTEGER NOT NULL, -- where the row begins in the file, in units of 4 bytes
  record INTEGER NOT NULL REFERENCES record_rows (record) ON DELETE CASCADE,
  crc    INTEGER NOT NULL, -- CRC-32C of the row's bytes, as a number with a sign: it is shorter
  PRIMARY KEY (file, slot)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX vector_rows_by_record ON vector_rows (record, file);
CREATE VIEW vectors AS SELECT f.model, f.agent, v.slot, v.record, v.crc & 4294967295 AS crc
  FROM vector_rows v LEFT JOIN files f ON f.file=v.file;
`

// stateTable came with version 2.
const stateTable = `
-- state: what a later run has to do
CREATE TABLE state (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
