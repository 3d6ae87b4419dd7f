package adapters_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakehubdb"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/cline/hubdb"
)

func hubdbMust(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// filled is a directory with the databases of a hub, and one of them.
func filled(t testing.TB, name string, queries ...string) hubdb.File {
	t.Helper()
	dir := t.TempDir()
	hubdbMust(t, fakehubdb.Fill(dir))
	hubdbMust(t, fakehubdb.Change(filepath.Join(dir, name), queries...))
	return hubdb.File{Base: dir, Name: name}
}

// logOf is the log of a session's rows, and its hash.
func logOf(t testing.TB, f hubdb.File, id string) (text, sum string) {
	t.Helper()
	db, err := hubdb.Open(t.Context(), f)
	hubdbMust(t, err)
	defer db.Close()
	log, err := db.Log(t.Context(), id)
	hubdbMust(t, err)
	raw, err := io.ReadAll(log)
	hubdbMust(t, err)
	hash := sha256.Sum256(raw)
	return string(raw), hex.EncodeToString(hash[:])
}

func rows(t testing.TB, f hubdb.File) map[string]bool {
	t.Helper()
	all, err := fakehubdb.Rows(f.Base, t.TempDir())
	hubdbMust(t, err)
	there := map[string]bool{}
	for _, row := range all {
		there[row] = true
	}
	return there
}

func remove(ctx context.Context, f hubdb.File, proofs ...hubdb.Proof) (done hubdb.Removed, err error) {
	w, err := hubdb.Hold(ctx, f)
	if err != nil {
		return done, err
	}
	done, err = w.Remove(ctx, proofs)
	return done, errors.Join(err, w.Close())
}

// What is removed is what was archived, and it comes back as it was.
func TestHubdbRemoveAndInsert(t *testing.T) {
	for name, count := range map[string]int{fakehubdb.Events: 22, fakehubdb.Search: 3} {
		f := filled(t, name)
		before := rows(t, f)
		text, sum := logOf(t, f, fakehubdb.Deleted)
		if n := strings.Count(text, "\n"); n != count+1 {
			t.Errorf("%s: the log has %d lines", name, n)
		}
		done, err := remove(t.Context(), f, hubdb.Proof{Session: fakehubdb.Deleted, Log: sum}, hubdb.Proof{Session: "never", Log: sum})
		hubdbMust(t, err)
		if want := (hubdb.Removed{Sessions: 1, Rows: count, Gone: []string{"never"}}); !cmp.Equal(want, done) {
			t.Errorf("%s: %+v", name, done)
		}
		after := rows(t, f)
		if len(before)-len(after) != count {
			t.Errorf("%s: %d rows of %d are left", name, len(after), len(before))
		}
		for range 2 { // again: nothing is missing
			w, err := hubdb.Hold(t.Context(), f)
			hubdbMust(t, err)
			logs := []string{text}
			n, err := w.Insert(t.Context(), func() (io.ReadCloser, error) {
				if len(logs) == 0 {
					return nil, io.EOF
				}
				logs = nil
				return io.NopCloser(strings.NewReader(text)), nil
			})
			hubdbMust(t, errors.Join(err, w.Close()))
			if diff := cmp.Diff(before, rows(t, f)); diff != "" || n != count {
				t.Errorf("%s: %d rows came back (-before +after):\n%s", name, n, diff)
			}
			count = 0
		}
	}
}

// Nothing goes when a row is other than it was archived, or is not understood, or
// when the database does more than is known.
func TestHubdbNothingIsRemoved(t *testing.T) {
	for what, c := range map[string]struct{ database, query string }{
		"a row changed":         {fakehubdb.Events, "UPDATE hub_events SET created_at = created_at + 1 WHERE sequence = 3"},
		"a row was added":       {fakehubdb.Events, "INSERT INTO hub_events (event, session_id, envelope_json, created_at) SELECT event, session_id, envelope_json, 7 FROM hub_events WHERE sequence = 3"},
		"another version":       {fakehubdb.Events, "UPDATE hub_events SET envelope_json = replace(envelope_json, '\"v1\"', '\"v2\"') WHERE sequence = 3"},
		"no JSON":               {fakehubdb.Events, "UPDATE hub_events SET envelope_json = 'x' WHERE sequence = 3"},
		"another session":       {fakehubdb.Events, "UPDATE hub_events SET session_id = '" + fakehubdb.Deleted + "' WHERE sequence = 30"},
		"another kind":          {fakehubdb.Events, "UPDATE hub_events SET event = 'x' WHERE sequence = 3"},
		"a blob":                {fakehubdb.Events, "UPDATE hub_events SET session_id = CAST(session_id AS BLOB) WHERE sequence = 3"},
		"a trigger":             {fakehubdb.Events, "CREATE TRIGGER more AFTER DELETE ON hub_events BEGIN DELETE FROM hub_events; END"},
		"a key that takes more": {fakehubdb.Events, "CREATE TABLE kept (n INTEGER PRIMARY KEY, of INTEGER REFERENCES hub_events(sequence) ON DELETE CASCADE); INSERT INTO kept VALUES (1, 3)"},
		"another index":         {fakehubdb.Search, "UPDATE indexed_sessions SET index_version = 3"},
		"a text of another":     {fakehubdb.Search, "UPDATE session_search SET document_id = 'other:1' WHERE session_id = '" + fakehubdb.Deleted + "'"},
		"a text was added":      {fakehubdb.Search, "INSERT INTO session_search (session_id, document_id, content) VALUES ('" + fakehubdb.Deleted + "', '" + fakehubdb.Deleted + ":9', 'more')"},
	} {
		f := filled(t, c.database)
		_, sum := logOf(t, f, fakehubdb.Deleted)
		hubdbMust(t, fakehubdb.Change(f.Path(), c.query))
		before := rows(t, f)
		_, err := remove(t.Context(), f, hubdb.Proof{Session: fakehubdb.Deleted, Log: sum})
		if err == nil {
			t.Errorf("%s: it was removed", what)
		}
		if diff := cmp.Diff(before, rows(t, f)); diff != "" {
			t.Errorf("%s: rows changed (-before +after):\n%s", what, diff)
		}
	}
}

// An index whose words are damaged is left as it is.
func TestHubdbDamagedIndex(t *testing.T) {
	f := filled(t, fakehubdb.Search)
	_, sum := logOf(t, f, fakehubdb.Deleted)
	hubdbMust(t, fakehubdb.Change(f.Path(), "DELETE FROM session_search_data WHERE id > 10"))
	if _, err := remove(t.Context(), f, hubdb.Proof{Session: fakehubdb.Deleted, Log: sum}); err == nil {
		t.Error("rows were removed")
	}
	if _, again := logOf(t, f, fakehubdb.Deleted); again != sum {
		t.Error("rows have changed")
	}
}

// A hub that runs has its databases open.
func TestHubdbHoldIsBusy(t *testing.T) {
	f := filled(t, fakehubdb.Events)
	w, err := hubdb.Hold(t.Context(), f)
	hubdbMust(t, err)
	defer w.Close()
	if _, err := hubdb.Hold(t.Context(), f); !errors.Is(err, session.ErrBusy) {
		t.Errorf("it was taken twice: %v", err)
	}
}

// Which sessions have rows, and how much they say.
func TestHubdbSessions(t *testing.T) {
	f := filled(t, fakehubdb.Events, "UPDATE hub_events SET envelope_json = '{' WHERE sequence = 46")
	db, err := hubdb.Open(t.Context(), f)
	hubdbMust(t, err)
	defer db.Close()
	all, err := db.Sessions(t.Context())
	hubdbMust(t, err)
	got := map[string]int{}
	for _, r := range all {
		got[r.Session+r.Odd] = r.Count
		if r.Bytes < 1000 || r.Newest.Year() != 2026 {
			t.Errorf("%+v", r)
		}
	}
	want := map[string]int{fakehubdb.Deleted: 22, fakehubdb.There: 22, fakehubdb.Listed: 22, fakehubdb.Agents + "1 of its rows have a form that is not known": 22}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := db.Log(t.Context(), "never"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log of nothing: %v", err)
	}
	if _, err := hubdb.Open(t.Context(), hubdb.File{Base: f.Base, Name: fakehubdb.Sessions}); !errors.Is(err, hubdb.ErrSchema) {
		t.Errorf("a database of something else: %v", err)
	}
	known, err := hubdb.Known(t.Context(), hubdb.File{Base: f.Base, Name: fakehubdb.Sessions})
	if hubdbMust(t, err); !known[fakehubdb.There] || !known[fakehubdb.Listed] || known[fakehubdb.Deleted] {
		t.Errorf("known: %v", known)
	}
}
