package fakesessiondb

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/sessctl/sessctl/internal/copieddb"
)

// Schema makes the tables of sessions as OpenCode 1.18.33 does.
//
//go:embed schema.sql
var Schema string

// Database is a database that is being written. Its first error stays.
type Database struct {
	db  *sql.DB
	err error
	seq map[string]int // of the next event of a session
	n   int            // of all ids
}

// Thing is an object of JSON.
type Thing = map[string]any

// Create makes a database, and its directory. It is in WAL mode, and nothing
// leaves its log before Close or Checkpoint.
func Create(path string) *Database {
	d := &Database{seq: map[string]int{}}
	if d.err = os.MkdirAll(filepath.Dir(path), 0o700); d.err != nil {
		return d
	}
	if d.db, d.err = sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=foreign_keys(1)"); d.err != nil {
		return d
	}
	d.db.SetMaxOpenConns(1)
	d.Do("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=OFF;" + Schema)
	d.Do("INSERT INTO project (id, worktree, vcs, time_created, time_updated, sandboxes) VALUES (?, ?, 'git', 1767340800000, 1767340800000, '[]')", Project, Directory)
	return d
}

// The project of every session.
const (
	Project   = "993fb2106f2c11a34e61de939ffb07ddb0b78820"
	Directory = "/home/lea/bakery"
)

// Do carries out a statement.
func (d *Database) Do(query string, args ...any) {
	if d.err == nil {
		_, d.err = d.db.ExecContext(context.Background(), query, args...)
	}
}

// Close closes the database, which takes its log in.
func (d *Database) Close() error { return errors.Join(d.err, d.db.Close()) }

// Leave copies the database as it lies, log and all, to another path, as a
// program leaves it that ends without taking its log in, and closes it.
func (d *Database) Leave(from, to string) error {
	err := errors.Join(d.err, os.MkdirAll(filepath.Dir(to), 0o700))
	for _, end := range []string{"", "-wal"} {
		data, readErr := os.ReadFile(from + end)
		err = errors.Join(err, readErr)
		if err == nil {
			err = os.WriteFile(to+end, data, 0o600)
		}
	}
	return errors.Join(err, d.db.Close())
}

// id makes the next id of a kind.
func (d *Database) id(kind string) string {
	d.n++
	return fmt.Sprintf("%s_%026d", kind, d.n)
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only what can be marshalled is given
	}
	return string(b)
}

// Event appends an event to the journal of a session.
func (d *Database) Event(session, kind string, data Thing) {
	seq := d.seq[session]
	d.seq[session]++
	d.Do("INSERT INTO event_sequence (aggregate_id, seq) VALUES (?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq", session, seq)
	d.Do("INSERT INTO event (id, aggregate_id, seq, type, data) VALUES (?, ?, ?, ?, ?)", d.id("evt"), session, seq, kind, text(data))
}

// Session begins a session. parent is "" for one that a person began.
func (d *Database) Session(id, parent, title string, at int64) {
	var from any
	if parent != "" {
		from = parent
	}
	d.Do(`INSERT INTO session (id, project_id, parent_id, slug, directory, path, title, version, agent, model, time_created, time_updated)
VALUES (?, ?, ?, ?, ?, '', ?, '1.18.33', 'build', '{"id":"mock-large","providerID":"mock"}', ?, ?)`, id, Project, from, "slug-"+id, Directory, title, at, at)
	d.Event(id, "session.created.1", Thing{"sessionID": id, "info": Thing{"id": id, "title": title, "time": Thing{"created": at}}})
}

// Message adds a message and returns its id. Its first state, before it is done,
// is in the journal too.
func (d *Database) Message(session string, at int64, data Thing) string {
	id := d.id("msg")
	data["time"] = Thing{"created": at}
	d.state(session, "message.updated.1", "info", id, Thing{"role": data["role"], "time": data["time"]})
	d.state(session, "message.updated.1", "info", id, data)
	d.Do("INSERT INTO message (id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?)", id, session, at, at+7, text(data))
	d.Do("UPDATE session SET time_updated = ? WHERE id = ?", at+9, session)
	return id
}

func (d *Database) state(session, kind, key, id string, data Thing) {
	whole := Thing{"id": id, "sessionID": session}
	for k, v := range data {
		whole[k] = v
	}
	d.Event(session, kind, Thing{"sessionID": session, key: whole})
}

// Part adds a part to a message. states are what it was before, each of which is
// in the journal.
func (d *Database) Part(session, message string, at int64, data Thing, states ...Thing) string {
	id := d.id("prt")
	for _, s := range append(states, data) {
		s["messageID"] = message
		d.state(session, "message.part.updated.1", "part", id, s)
		delete(s, "messageID")
	}
	d.Do("INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, ?, ?, ?)", id, message, session, at, at+3, text(data))
	return id
}

// User adds what a person said.
func (d *Database) User(session string, at int64, said string) string {
	id := d.Message(session, at, Thing{"role": "user", "agent": "build", "model": Thing{"providerID": "mock", "modelID": "mock-large"}})
	d.Part(session, id, at, Thing{"type": "text", "text": said})
	return id
}

// Tokens is what a model counted: input is without what came from the cache.
func Tokens(input, output, cached int64) Thing {
	return Thing{"total": input + output + cached, "input": input, "output": output, "reasoning": 0, "cache": Thing{"read": cached, "write": 0}}
}

// Turn says what is answered, and when, in milliseconds.
type Turn struct {
	Session, Message string
	At               int64
}

// Answer adds an answer and returns its id; more is added to its data.
func (d *Database) Answer(to Turn, tokens Thing, more Thing, parts ...Thing) string {
	data := Thing{"role": "assistant", "parentID": to.Message, "mode": "build", "agent": "build", "path": Thing{"cwd": Directory, "root": Directory},
		"cost": 0, "tokens": tokens, "modelID": "mock-large", "providerID": "mock", "finish": "stop"}
	for k, v := range more {
		data[k] = v
	}
	id := d.Message(to.Session, to.At, data)
	d.Part(to.Session, id, to.At, Thing{"type": "step-start", "snapshot": "f6b2ff13ae2c97d73389800949e0aaa248803b9c"})
	for _, p := range parts {
		if p["type"] == "tool" {
			before := Thing{"type": "tool", "tool": p["tool"], "callID": p["callID"], "state": Thing{"status": "pending", "input": Thing{}}}
			running := Thing{"type": "tool", "tool": p["tool"], "callID": p["callID"], "state": Thing{"status": "running", "input": p["state"].(Thing)["input"]}}
			d.Part(to.Session, id, to.At, p, before, running)
			continue
		}
		d.Part(to.Session, id, to.At, p)
	}
	d.Part(to.Session, id, to.At, Thing{"type": "step-finish", "reason": data["finish"], "tokens": tokens, "cost": 0})
	return id
}

// Text is a part of text.
func Text(text string) Thing { return Thing{"type": "text", "text": text} }

// Tool is a part with a call that is done. Its output stands in it twice.
func Tool(name, call string, input Thing, output string, metadata Thing) Thing {
	if metadata == nil {
		metadata = Thing{}
	}
	metadata["output"] = output
	return Thing{"type": "tool", "tool": name, "callID": call, "state": Thing{
		"status": "completed", "input": input, "output": output, "title": name, "metadata": metadata, "time": Thing{"start": 1, "end": 2},
	}}
}

// Rows are the rows of a database, those that are only in its log too: the table,
// the id and what the row says. It reads a copy in a directory of its own.
func Rows(path, scratch string) (rows []string, err error) {
	return copieddb.Rows(path, filepath.Join(scratch, "rows.db"),
		"SELECT 'session|' || id || '|' || title FROM session UNION ALL SELECT 'message|' || id || '|' || data FROM message UNION ALL SELECT 'part|' || id || '|' || data FROM part UNION ALL SELECT 'event|' || id || '|' || data FROM event")
}

// Archived are the rows that the lines of archives hold, as Rows has them.
func Archived(lines []string) (rows []string) {
	tables := map[string]string{"opencode.session": "session", "message": "message", "part": "part", "opencode.event": "event"}
	for _, text := range lines {
		var line struct {
			Type    string
			Row     struct{ ID, Title string }
			Payload json.RawMessage
		}
		if json.Unmarshal([]byte(text), &line) == nil && tables[line.Type] != "" {
			said := string(line.Payload)
			if line.Type == "opencode.session" {
				said = line.Row.Title
			}
			rows = append(rows, tables[line.Type]+"|"+line.Row.ID+"|"+said)
		}
	}
	return rows
}
