package fakeagentdb

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Row is a row of transcript_events.
type Row struct {
	Session string
	Seq     int64
	JSON    string // event_json, NULL if it is empty
	Packed  []byte // event_zstd, NULL if it is nil
	Length  int64  // event_utf8_bytes, NULL for 0
	At      int64  // created_at, epoch milliseconds
}

// Node is a row of session_nodes.
type Node struct{ Key, Session, Entry string }

// Content is what a database holds.
type Content struct {
	Version int // of the schema
	Main    string
	Nodes   []Node
	Windows [][2]string // session and key
	Rows    []Row
	Late    []Row    // that are only in the write-ahead log, which then is there
	Cold    []string // sessions in cold storage
	Deleted []string // deleted sessions of which there is a copy
	Before  bool     // before event_zstd and cold storage, as of schema 19
	Long    bool     // a schema of several pages, and its version in the header too, as the program has them
}

// Packed is a row whose record is compressed.
func Packed(r Row) Row {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are right
	}
	r.Packed, r.Length, r.JSON = encoder.EncodeAll([]byte(r.JSON), nil), int64(len(r.JSON)), ""
	return r
}

// DeletedEnd follows the id in the name of a deleted session's copy.
const DeletedEnd = ".jsonl.deleted.2026-09-03T08-00-00.000Z.zst"

const schema = `
CREATE TABLE schema_meta (meta_key TEXT NOT NULL PRIMARY KEY, role TEXT NOT NULL, schema_version INTEGER NOT NULL) STRICT;
CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL, entry_json TEXT NOT NULL) STRICT;
CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, model TEXT) STRICT;
CREATE TABLE session_key_contract (id INTEGER NOT NULL PRIMARY KEY, main_key TEXT NOT NULL) STRICT;
`

const (
	events = `CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL,
  event_zstd BLOB, event_utf8_bytes INTEGER, navigation_json TEXT, PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE session_transcript_cold_archives (session_id TEXT NOT NULL PRIMARY KEY, archive_name TEXT NOT NULL, event_count INTEGER NOT NULL) STRICT;
CREATE TABLE session_transcript_archives (session_id TEXT NOT NULL, generation TEXT NOT NULL, archive_blob BLOB NOT NULL, archive_name TEXT NOT NULL UNIQUE, PRIMARY KEY (session_id, generation)) STRICT;`
	eventsBefore = `CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq)) STRICT;`
)

// Write makes a database at path, and its directory. With late rows there is a
// write-ahead log beside it, as beside the database of a running gateway.
func Write(path string, c Content) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "fakeagentdb-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	name := filepath.Join(work, "a.sqlite")
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	err = fill(db, c)
	if err == nil && len(c.Late) > 0 {
		// A database that is closed takes its log in: both are copied before.
		err = errors.Join(addRows(db, c.Late, c.Before), place(name, path), place(name+"-wal", path+"-wal"))
		return errors.Join(err, db.Close())
	}
	return errors.Join(err, db.Close(), place(name, path))
}

func fill(db *sql.DB, c Content) error {
	table := events
	if c.Before {
		table = eventsBefore
	}
	if _, err := db.Exec("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;" + schema + table); err != nil {
		return err
	}
	add := func(query string, args ...any) error { _, err := db.Exec(query, args...); return err }
	err := add("INSERT INTO schema_meta VALUES ('primary', 'agent', ?)", c.Version)
	if c.Main != "" {
		err = errors.Join(err, add("INSERT INTO session_key_contract VALUES (1, ?)", c.Main))
	}
	for i := range 12 {
		if c.Long {
			err = errors.Join(err, add(fmt.Sprintf("PRAGMA user_version = %d; CREATE TABLE other_%d (id TEXT /* %s */)", c.Version, i, strings.Repeat("of another version ", 64))))
		}
	}
	for _, n := range c.Nodes {
		err = errors.Join(err, add("INSERT INTO session_nodes VALUES (?, ?, ?)", n.Key, n.Session, n.Entry))
	}
	for _, w := range c.Windows {
		err = errors.Join(err, add("INSERT INTO session_windows VALUES (?, ?, 'mock-large')", w[0], w[1]))
	}
	for _, id := range c.Cold {
		err = errors.Join(err, add("INSERT INTO session_transcript_cold_archives VALUES (?, ?, 7)", id, id+".cold"))
	}
	for _, id := range c.Deleted {
		err = errors.Join(err, add("INSERT INTO session_transcript_archives VALUES (?, 'g', x'28b52ffd', ?)", id, id+DeletedEnd))
	}
	return errors.Join(err, addRows(db, c.Rows, c.Before), add("PRAGMA wal_checkpoint(TRUNCATE)"))
}

func addRows(db *sql.DB, rows []Row, before bool) error {
	for _, r := range rows {
		args := []any{r.Session, r.Seq, null(r.JSON == "", r.JSON), r.At}
		query := "INSERT INTO transcript_events VALUES (?, ?, ?, ?"
		if !before {
			query += ", ?, ?, NULL"
			args = append(args, null(r.Packed == nil, r.Packed), null(r.Length == 0, r.Length))
		}
		if _, err := db.Exec(query+")", args...); err != nil {
			return fmt.Errorf("add row %d: %w", r.Seq, err)
		}
	}
	return nil
}

func null(is bool, value any) any {
	if is {
		return nil
	}
	return value
}

func place(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
