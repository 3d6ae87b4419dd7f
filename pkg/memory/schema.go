package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// prepare checks the version, and makes the tables of a new database.
func (s *connection) prepare(ctx context.Context) error {
	isNew, err := checkVersion(ctx, s.db)
	switch {
	case err != nil:
		return err
	case !isNew:
		return nil
	case s.readOnly:
		return ErrEmpty
	}
	if err := s.setUp(ctx); err != nil {
		return err
	}
	return s.create(ctx)
}

// setUp sets what holds for the whole of a new database. SQLite does not wait for
// another process there: it refuses at once what both would have to wait for.
func (s *connection) setUp(ctx context.Context) (err error) {
	for end := time.Now().Add(lockPatience); ; {
		for _, pragma := range []string{fmt.Sprintf("PRAGMA page_size=%d", pageSize), "PRAGMA journal_mode=WAL"} {
			if _, err = s.db.ExecContext(ctx, pragma); err != nil {
				err = fmt.Errorf("set up: %w", database.Classify(err))
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
func (s *connection) create(ctx context.Context) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) (err error) {
		// Another process may have been faster.
		if isNew, err := checkVersion(ctx, tx); err != nil || !isNew {
			return err
		}
		if _, err := tx.ExecContext(ctx, schema+markVersion); err != nil {
			return err
		}
		s.created = true
		if s.rebuild {
			if _, err := tx.ExecContext(ctx, "INSERT INTO state (name, value) VALUES (?, '')", incomplete); err != nil {
				return err
			}
		}
		_, err = forgetting{s}.rememberForgotten(ctx, tx)
		return err
	})
}

// checkVersion says whether a database is new. The error says if it is newer
// than this program, or not ours.
func checkVersion(ctx context.Context, q database.Querier) (isNew bool, err error) {
	var version, application, tables int
	err = q.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&version, &application, &tables)
	switch {
	case err != nil:
		return false, database.Classify(err)
	case application == applicationID && version > schemaVersion:
		return false, fmt.Errorf("%w (schema %d, this one knows %d)", ErrNewerSchema, version, schemaVersion)
	case application == applicationID && version == schemaVersion:
		return false, nil
	case application == unreleasedID:
		return false, fmt.Errorf("%w: a version of sessctl before the first release wrote it", ErrCorrupt)
	case application != 0 || version != 0 || tables != 0:
		return false, fmt.Errorf("%w: not a memory of sessctl", ErrCorrupt)
	}
	return true, nil
}

// schemaVersion is the user_version of the database; a newer one is refused.
// Whoever changes the schema of a released version raises it and writes the
// way from the old one to the new.
const schemaVersion = 1

// applicationID marks the file as ours ("sesm"), and unreleasedID ("sess") as one
// of the formats before version 1, which nothing reads.
const (
	applicationID = 0x7365736d
	unreleasedID  = 0x73657373
)

// markVersion are the statements that mark a database as one of this version.
const markVersion = "PRAGMA user_version = 1; PRAGMA application_id = 1936028525;"

// pageSize in bytes is that of a new database: each table and index has a page
// at least, and most have one that is nearly empty (docs/dev/decisions.md D27).
const pageSize = 4096

// Texts are kept apart from what is filtered by, so that a filter does not
// have to step over them. The words of words.Tables are those of the text as the
// built-in embedder sees them: stemmed, identifiers whole and in parts, pairs of
// CJK characters.
const schema = recordTables + words.Tables + `
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

// recordTables have the records. What those of a session have in common is kept
// once; the view records is what all queries read.
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
` + textTable + vectors.Tables

const textTable = `
CREATE TABLE texts (
  record INTEGER PRIMARY KEY REFERENCES record_rows (record) ON DELETE CASCADE,
  text   ANY     NOT NULL -- compressed, see keptText
) STRICT;
`

const stateTable = `
-- state: what a later run has to do
CREATE TABLE state (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
