package fakehubdb

import (
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

//go:embed schema.sql
var schema string

// The sessions of the story. There is the first alone; the second was deleted, and
// with it the third, which its agent had begun. The fourth has begun a session that
// has a row in the list and no directory.
const (
	There   = "1772359200000_k3ln0"
	Deleted = "1772270000000_old01"
	Agents  = Deleted + "__kiln"
	Listed  = "1772271000000_lst02"
)

// The names of the databases.
const (
	Events   = "hub-events-hub-production.db"
	Search   = "session-search.db"
	Sessions = "sessions.db"
)

// began is when the first event was told, in milliseconds.
const began = 1772270000000

// Fill writes the three databases into a directory. Each is left as a program leaves
// it that was killed: all of it is in its write-ahead log.
func Fill(dir string) error {
	parts := strings.Split(schema, "-- ")
	return errors.Join(
		leave(filepath.Join(dir, Events), parts[0], events),
		leave(filepath.Join(dir, Search), strings.TrimPrefix(parts[1], "search"), search),
		leave(filepath.Join(dir, Sessions), strings.TrimPrefix(parts[2], "sessions"), func(do do) {
			for _, id := range []string{There, Listed} {
				do("INSERT INTO sessions VALUES (?, 'cli', '2026-02-28T09:00:00Z', 'completed', '/home/lea/pottery', NULL, 0, '2026-02-28T09:00:00Z')", id)
			}
		}),
	)
}

// do changes a database, unless an earlier change failed.
type do func(query string, args ...any)

// leave makes a database and copies it as it lies, log and all.
func leave(path, tables string, fill func(do)) (err error) {
	scratch, err := os.MkdirTemp("", "hubdb-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	from := filepath.Join(scratch, "making.db")
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(from))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	change := func(query string, args ...any) {
		if err == nil {
			_, err = db.Exec(query, args...)
		}
	}
	change("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=OFF;" + tables)
	change("BEGIN")
	fill(change)
	change("COMMIT")
	err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700))
	for _, end := range []string{"", "-wal"} {
		data, readErr := os.ReadFile(from + end)
		err = errors.Join(err, readErr, os.WriteFile(path+end, data, 0o600))
	}
	return err
}

// events are what the hub told of each session: every envelope has the whole state.
func events(do do) {
	at := int64(began)
	tell := func(id, event string, payload any) {
		at += 1000
		var session any
		whole := map[string]any{"version": "v1", "event": event, "eventId": fmt.Sprintf("hevt_%d", at), "timestamp": at, "payload": payload}
		if id != "" {
			session, whole["sessionId"] = id, id
		}
		text, _ := json.Marshal(whole) // of strings and numbers
		do("INSERT INTO hub_events (event, session_id, envelope_json, created_at) VALUES (?, ?, ?, ?)", event, session, string(text), at)
	}
	tell("", "hub.client.registered", map[string]string{"displayName": "Cline CLI"})
	for _, id := range []string{Deleted, There, Agents, Listed} {
		tell(id, "session.created", map[string]string{"cwd": "/home/lea/pottery"})
		for n := range 20 {
			tell(id, "session.updated", map[string]any{"said": Said(id), "step": n, "state": strings.Repeat("The kiln is at cone 6. ", 40)})
		}
		tell(id, "run.completed", map[string]string{"said": Said(id)})
	}
}

// search are the texts that the hub's index has.
func search(do do) {
	for _, id := range []string{There, Deleted, Listed} {
		do("INSERT INTO indexed_sessions VALUES (?, 'x', '2026-02-28T09:00:00.000Z', 2, 2, 'Glaze')", id)
		for n, role := range []string{"user", "assistant"} {
			do("INSERT INTO session_search (session_id, document_id, ordinal, role, started_at, workspace_root, title, content) VALUES (?, ?, ?, ?, '2026-02-28T09:00:00.000Z', '/home/lea/pottery', '', ?)",
				id, fmt.Sprintf("%s:%d", id, n), n, role, "text\n"+Said(id)+" "+strings.Repeat("Which glaze is celadon? ", 20))
		}
	}
}

// Said is what only one session said.
func Said(id string) string { return "heron-" + strings.ReplaceAll(id, "_", "-") }

// Change changes a database of a directory and leaves what it did in the log.
func Change(path string, queries ...string) error {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=wal_autocheckpoint(0)")
	if err != nil {
		return err
	}
	for _, query := range queries {
		if err == nil {
			_, err = db.Exec(query)
		}
	}
	return errors.Join(err, db.Close())
}
