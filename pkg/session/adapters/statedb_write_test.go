package adapters_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakestatedb"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/hermes/statedb"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

func statedbStory(t *testing.T, schema int, change ...string) statedb.File {
	t.Helper()
	f := statedb.File{Base: t.TempDir(), Name: "state.db"}
	d := fakestatedb.Told(f.Path(), schema)
	for _, query := range change {
		d.Do(query)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// statedbLogs are those of all sessions.
func statedbLogs(t *testing.T, f statedb.File) map[string][]byte {
	t.Helper()
	db, err := statedb.Open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sessions, err := db.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, s := range sessions {
		log, err := db.Log(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if all[s.ID], err = io.ReadAll(log); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func statedbProofs(all map[string][]byte) (p []statedb.Proof) {
	for id, log := range all {
		sum := sha256.Sum256(log)
		p = append(p, statedb.Proof{Session: id, Log: hex.EncodeToString(sum[:])})
	}
	return p
}

func statedbHeld(t *testing.T, f statedb.File) *statedb.Writer {
	t.Helper()
	w, err := statedb.Hold(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func statedbDo(t *testing.T, f statedb.File, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path()))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range queries {
		if _, err := db.ExecContext(context.Background(), query); err != nil {
			t.Fatal(query, err)
		}
	}
}

// Nothing is proved as long as a session that has ended is not archived as it is,
// or has rows that no log holds; nothing is held while somebody has the database.
func TestStatedbProve(t *testing.T) {
	f := statedbStory(t, 30)
	all := statedbLogs(t, f)
	w := statedbHeld(t, f)
	proved, err := w.Prove(t.Context(), statedbProofs(all))
	if err != nil || len(proved.Ended) != 3 || len(proved.Open) != 2 {
		t.Fatal(err, proved)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]string{
		"a message more":           "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('" + fakestatedb.First + "', 'user', 'x', 1)",
		"another title":            "UPDATE sessions SET title = 'x' WHERE id = '" + fakestatedb.First + "'",
		"a session that has ended": "UPDATE sessions SET ended_at = 1 WHERE id = '" + fakestatedb.New + "'",
		"a row of another table":   "CREATE TABLE notes (id INTEGER PRIMARY KEY, of INTEGER REFERENCES messages(id) ON DELETE CASCADE); INSERT INTO notes VALUES (1, 1)",
	} {
		f := statedbStory(t, 30)
		statedbDo(t, f, change)
		known := statedbProofs(statedbLogs(t, statedbStory(t, 30)))
		if name == "a session that has ended" {
			known = known[:0]
			for _, p := range statedbProofs(statedbLogs(t, f)) {
				if p.Session != fakestatedb.New {
					known = append(known, p)
				}
			}
		}
		if _, err := statedbHeld(t, f).Prove(t.Context(), known); !errors.Is(err, session.ErrBusy) {
			t.Error(name, err)
		}
	}
	f = statedbStory(t, 30)
	statedbDo(t, f, "CREATE TABLE deep (id INTEGER PRIMARY KEY, of TEXT REFERENCES session_model_usage(session_id) ON DELETE CASCADE)")
	if _, err := statedbHeld(t, f).Prove(t.Context(), statedbProofs(statedbLogs(t, f))); !errors.Is(err, statedb.ErrNotArchived) {
		t.Error("rows behind rows:", err)
	}
	for _, schema := range []string{"15", "31"} {
		f := statedbStory(t, 30, "UPDATE schema_version SET version = "+schema)
		if _, err := statedb.Hold(t.Context(), f); !errors.Is(err, statedb.ErrUnknownSchema) {
			t.Error(schema, err)
		}
	}
	f = statedbStory(t, 16)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path()))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec("UPDATE state_meta SET value = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := statedb.Hold(t.Context(), f); !errors.Is(err, session.ErrBusy) {
		t.Error("while a program has it open:", err)
	}
}

func next(all ...[]byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		if len(all) == 0 {
			return nil, io.EOF
		}
		log := io.NopCloser(bytes.NewReader(all[0]))
		all = all[1:]
		return log, nil
	}
}

// prune is what the program does.
func prune(id string) []string {
	return []string{"UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = '" + id + "'", "DELETE FROM messages WHERE session_id = '" + id + "'", "DELETE FROM sessions WHERE id = '" + id + "'"}
}

// What was pruned comes back as it was, also where triggers change what is put in,
// and can be searched again; nothing comes back where anything else is there.
func TestStatedbInsert(t *testing.T) {
	for _, schema := range []int{16, 30} {
		f := statedbStory(t, schema)
		if schema == 30 {
			statedbDo(t, f, "UPDATE messages SET display_order = NULL WHERE id = 2; DELETE FROM session_model_usage WHERE session_id <> '"+fakestatedb.First+"'")
		}
		want := statedbLogs(t, f)
		for _, id := range []string{fakestatedb.First, fakestatedb.Second, fakestatedb.Delegate} {
			if schema == 30 {
				statedbDo(t, f, "DELETE FROM session_model_usage WHERE session_id = '"+id+"'")
			}
			statedbDo(t, f, prune(id)...)
		}
		if schema == 30 {
			statedbDo(t, f, "DELETE FROM system_prompts WHERE hash NOT IN (SELECT system_prompt_hash FROM sessions WHERE system_prompt_hash IS NOT NULL)")
		}
		w := statedbHeld(t, f)
		rows, err := w.Insert(t.Context(), next(want[fakestatedb.Second], want[fakestatedb.Delegate]))
		if err != nil || rows < 8 {
			t.Fatal(schema, rows, err)
		}
		if rows, err = w.Insert(t.Context(), next(want[fakestatedb.First])); err != nil || rows == 0 {
			t.Fatal(schema, rows, err)
		}
		if rows, err = w.Insert(t.Context(), next(want[fakestatedb.First], want[fakestatedb.Second])); err != nil || rows != 0 {
			t.Error(schema, "again:", rows, err)
		}
		if err := errors.Join(w.Checkpoint(t.Context()), w.Close()); err != nil {
			t.Fatal(err)
		}
		got := statedbLogs(t, f)
		for id := range want {
			if d := cmp.Diff(string(want[id]), string(got[id])); d != "" {
				t.Errorf("%d %s: %s", schema, id, d)
			}
		}
		var n int
		db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path()))
		if err == nil {
			err = db.QueryRow("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'sacks'").Scan(&n)
			err = errors.Join(err, db.Close())
		}
		if err != nil || n != 1 {
			t.Error("found again:", n, err)
		}
	}
	f := statedbStory(t, 30)
	want := statedbLogs(t, f)
	statedbDo(t, f, "UPDATE messages SET content = 'other' WHERE session_id = '"+fakestatedb.First+"'")
	if _, err := statedbHeld(t, f).Insert(t.Context(), next(want[fakestatedb.First])); !errors.Is(err, rowlog.ErrDifferent) {
		t.Error("other rows:", err)
	}
	f = statedbStory(t, 30)
	statedbDo(t, f, prune(fakestatedb.Delegate)...)
	for name, log := range map[string]string{
		"no table":      strings.Replace(string(want[fakestatedb.Delegate]), `"table":"system_prompts"`, `"table":"nowhere"`, 1),
		"no column":     strings.Replace(string(want[fakestatedb.Delegate]), `"role":`, `"rôle":`, 1),
		"a lock":        string(want[fakestatedb.Delegate]) + `{"type":"row","table":"compression_locks","row":{"session_id":"x","holder":"y","acquired_at":1.0,"expires_at":1.0}}` + "\n",
		"another's row": strings.ReplaceAll(string(want[fakestatedb.Delegate]), `"id":13`, `"id":1`),
	} {
		w := statedbHeld(t, f)
		if _, err := w.Insert(t.Context(), next([]byte(log))); err == nil {
			t.Error(name, "was put back")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, there := statedbLogs(t, f)[fakestatedb.Delegate]; there {
			t.Error(name, "has left something")
		}
	}
}
