package fakestatedb

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

//go:embed schema16.sql
var schema16 string

//go:embed schema30.sql
var schema30 string

// The sessions of the story. The first was compressed and goes on in the second,
// whose agent began the third; the fourth branches off from the second. The fifth
// is new and has not ended.
const (
	First    = "20260506_081200_a1b2c3"
	Second   = "20260506_091500_d4e5f6"
	Delegate = "20260506_091600_aa11bb"
	Branch   = "20260506_092000_br0001"
	New      = "20261120_101010_new001"
)

// Database is a database that is being written. Its first error stays.
type Database struct {
	db      *sql.DB
	err     error
	columns map[string][]string // of a table
}

// Create makes a database of a schema, 16 or 30, and its directory. It is in WAL
// mode, and nothing leaves its log before it is closed.
func Create(path string, schema int) *Database {
	d := &Database{columns: map[string][]string{}}
	if d.err = os.MkdirAll(filepath.Dir(path), 0o700); d.err != nil {
		return d
	}
	if d.db, d.err = sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=foreign_keys(1)"); d.err != nil {
		return d
	}
	d.db.SetMaxOpenConns(1)
	tables := schema16
	if schema > 16 {
		tables = schema30
	}
	d.Do("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=OFF;" + tables)
	d.Do("INSERT INTO schema_version (version) VALUES (?)", schema)
	for _, table := range []string{"sessions", "messages"} {
		d.columns[table] = d.names(table)
	}
	return d
}

func (d *Database) names(table string) (names []string) {
	if d.err != nil {
		return nil
	}
	rows, err := d.db.QueryContext(context.Background(), "SELECT name FROM pragma_table_info(?)", table)
	if d.err = err; err != nil {
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		d.err = errors.Join(d.err, rows.Scan(&name))
		names = append(names, name)
	}
	d.err = errors.Join(d.err, rows.Err())
	return names
}

// Do carries out a statement.
func (d *Database) Do(query string, args ...any) {
	if d.err == nil {
		_, d.err = d.db.ExecContext(context.Background(), query, args...)
	}
}

// story16 and story30 are the bytes of databases with the story, told once.
var (
	story16 = sync.OnceValues(func() ([]byte, error) { return story(16) })
	story30 = sync.OnceValues(func() ([]byte, error) { return story(30) })
)

func story(schema int) (written []byte, err error) {
	scratch, err := os.MkdirTemp("", "statedb-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	whole := filepath.Join(scratch, "state.db")
	d := Create(whole, schema)
	Story(d, time.Now())
	if err := d.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(whole)
}

// Told is a database with the story, told now. It is made once for each schema:
// this is a copy, which is open again.
func Told(path string, schema int) *Database {
	read := story16
	if schema > 16 {
		read = story30
	}
	d := &Database{}
	written, err := read()
	if d.err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700)); d.err != nil {
		return d
	}
	if d.err = os.WriteFile(path, written, 0o600); d.err != nil {
		return d
	}
	if d.db, d.err = sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?_pragma=foreign_keys(1)"); d.err == nil {
		d.db.SetMaxOpenConns(1)
		d.Do("PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=OFF; UPDATE sessions SET rewind_count = rewind_count")
	}
	return d
}

// Row puts a row in: names and values, one after the other. A column that the
// schema lacks is left out.
func (d *Database) Row(table string, pairs ...any) {
	var names, marks []string
	var values []any
	for i := 0; i+1 < len(pairs); i += 2 {
		name := fmt.Sprint(pairs[i])
		if known := d.columns[table]; known != nil && !slices.Contains(known, name) {
			continue
		}
		names, marks, values = append(names, name), append(marks, "?"), append(values, pairs[i+1])
	}
	d.Do("INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(marks, ", ")+")", values...)
}

// Say puts a message in, at seconds since 1970.
func (d *Database) Say(session, role, content string, at float64, more ...any) {
	d.Row("messages", append([]any{"session_id", session, "role", role, "content", content, "timestamp", at}, more...)...)
}

// Close closes the database, which takes its log in.
func (d *Database) Close() error { return errors.Join(d.err, d.db.Close()) }

// Leave copies the database as it lies, log and all, to another path, as a
// program leaves it that is killed, and closes it.
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

// prompt is the prompt of the program in every session.
const prompt = "You are Hermes, and you work for a bakery."

// Story tells the story: the first four sessions 200 days before now, the last one
// an hour before.
func Story(d *Database, now time.Time) {
	t := float64(now.Add(-200*24*time.Hour).Unix()) + 0.25
	end := t + 3600
	newer := slices.Contains(d.columns["sessions"], "system_prompt_hash")
	begin := func(id, source, config string, more ...any) {
		pairs := []any{"id", id, "source", source, "model", "mock-large", "model_config", config, "started_at", t, "last_activity_at", t + 90}
		if newer {
			pairs = append(pairs, "system_prompt_hash", "5eed")
		} else {
			pairs = append(pairs, "system_prompt", prompt)
		}
		d.Row("sessions", append(pairs, more...)...)
	}
	if newer {
		d.Do("INSERT INTO system_prompts (hash, prompt) VALUES ('5eed', ?)", prompt)
	}
	begin(First, "cli", `{"max_iterations": 60}`, "cwd", "/home/lea/bakery", "title", "Bakery week", "ended_at", end, "end_reason", "compression")
	d.Say(First, "user", "Plan the bakery week for me", t)
	d.Say(First, "assistant", "Done: two bakers on the early shift.", t+3, "finish_reason", "stop", "reasoning", "The ovens are the bottleneck.", "reasoning_content", "The ovens are the bottleneck.")
	d.Say(First, "user", "list the files", t+10)
	d.Say(First, "assistant", "Let me look.", t+12, "finish_reason", "tool_calls", "tool_calls", `[{"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\":\"ls -la\"}"}}]`)
	d.Say(First, "tool", `{"output": "total 12\nnotes.txt", "exit_code": 0, "error": null}`, t+13, "tool_name", "terminal", "tool_call_id", "call_1")
	d.Say(First, "assistant", "Only notes.txt.", t+15, "finish_reason", "stop")
	d.Say(First, "user", "\x00json:"+`[{"type": "text", "text": "Look at this tray"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,`+strings.Repeat("iVBORw0KGgo", 100)+`"}}]`, t+20)
	d.Say(First, "assistant", "The third tray is too dark.", t+22, "finish_reason", "stop")
	begin(Second, "cli", `{"max_iterations": 60}`, "cwd", "/home/lea/bakery", "title", "Bakery week #2", "parent_session_id", First, "ended_at", end, "end_reason", "branched")
	d.Say(Second, "user", "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted into the summary below. ## Goal Plan the bakery week", t+30)
	d.Say(Second, "assistant", "Who opens on Saturday?", t+31, "finish_reason", "stop")
	d.Say(Second, "user", "wrong question", t+32, "active", 0)
	d.Say(Second, "assistant", "hm", t+33, "active", 0)
	begin(Delegate, "cli", `{"_delegate_from": "`+Second+`"}`, "parent_session_id", Second, "ended_at", end, "end_reason", "completed")
	d.Say(Delegate, "user", "Count the flour", t+40)
	d.Say(Delegate, "assistant", "14 sacks of spelt", t+41)
	begin(Branch, "cli", `{"_branched_from": "`+Second+`"}`, "cwd", "/home/lea/bakery", "parent_session_id", Second)
	d.Say(Branch, "user", "And on Sunday?", t+50)
	d.Say(Branch, "assistant", "Closed on Sunday.", t+51)
	recent := float64(now.Add(-time.Hour).Unix())
	d.Row("sessions", "id", New, "source", "telegram", "user_id", "42", "model", "mock-large", "model_config", "{}", "started_at", recent, "last_activity_at", recent+2)
	d.Say(New, "user", "hello from telegram", recent, "platform_message_id", "tg-77")
	d.Say(New, "assistant", "Good morning, the ovens are hot.", recent+2, "finish_reason", "stop")
	if newer {
		d.Do("INSERT INTO session_model_usage (session_id, model, api_call_count, input_tokens, estimated_cost_usd) VALUES (?, 'mock-large', 3, 6100, 0.25)", First)
	}
}
