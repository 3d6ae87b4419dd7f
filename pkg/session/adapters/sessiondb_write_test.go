package adapters_test

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakesessiondb"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/opencode/sessiondb"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// sessiondbStory is a database of a test.
func sessiondbStory(t *testing.T) sessiondb.File {
	t.Helper()
	f := sessiondb.File{Base: t.TempDir(), Name: "opencode.db"}
	from := filepath.Join(t.TempDir(), "a.db")
	d := fakesessiondb.Create(from)
	fakesessiondb.Story(d)
	if err := d.Leave(from, f.Path()); err != nil {
		t.Fatal(err)
	}
	age(t, f)
	return f
}

func age(t *testing.T, f sessiondb.File) {
	t.Helper()
	when := time.Now().Add(-2 * time.Hour)
	for _, end := range []string{"", "-wal"} {
		if err := os.Chtimes(f.Path()+end, when, when); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// saved are the logs of all sessions and of their journals.
func saved(t *testing.T, f sessiondb.File) map[string][]byte {
	t.Helper()
	age(t, f)
	db, err := sessiondb.Open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	logs := map[string][]byte{}
	sessions, err := db.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		for name, open := range map[string]func() (*sessiondb.Log, error){
			s.ID:              func() (*sessiondb.Log, error) { return db.Log(t.Context(), s.ID) },
			s.ID + ".journal": func() (*sessiondb.Log, error) { return db.Journal(t.Context(), s.ID) },
		} {
			log, err := open()
			if errors.Is(err, fs.ErrNotExist) {
				continue // it has no journal
			}
			if err != nil {
				t.Fatal(err)
			}
			if logs[name], err = io.ReadAll(log); err != nil {
				t.Fatal(err)
			}
		}
	}
	return logs
}

func sum(b []byte) string {
	hash := sha256.Sum256(b)
	return hex.EncodeToString(hash[:])
}

func sessiondbProofs(logs map[string][]byte, ids ...string) (all []sessiondb.Proof) {
	for _, id := range ids {
		p := sessiondb.Proof{Session: id, Log: sum(logs[id])}
		if journal, there := logs[id+".journal"]; there {
			p.Journal = sum(journal)
		}
		all = append(all, p)
	}
	return all
}

func sessiondbHeld(t *testing.T, f sessiondb.File) *sessiondb.Writer {
	t.Helper()
	w, err := sessiondb.Hold(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sessiondbLogs hands out logs one after the other.
func sessiondbLogs(all ...[]byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		if len(all) == 0 {
			return nil, io.EOF
		}
		log := io.NopCloser(bytes.NewReader(all[0]))
		all = all[1:]
		return log, nil
	}
}

// everything is every row of every table, as SQLite quotes it.
func everything(t *testing.T, f sessiondb.File) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path()))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var tables []string
	collect := func(query string, args ...any) (texts []string) {
		rows, err := db.Query(query, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	tables = collect("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	for _, name := range tables {
		columns := collect("SELECT 'quote(\"' || name || '\")' FROM pragma_table_info(?)", name)
		for _, row := range collect("SELECT " + strings.Join(columns, "||','||") + " FROM " + name + " ORDER BY 1") {
			all = append(all, name+" "+row)
		}
	}
	return all
}

// What is removed is put back as it was, row by row in every table: sessions with
// all that is theirs, and superseded events.
func TestSessiondbRemoveAndInsert(t *testing.T) {
	f := sessiondbStory(t)
	// A table without a primary key may hold the same row twice.
	sessiondbDo(t, f, "CREATE TABLE session_note (session_id TEXT, note TEXT, size INTEGER);"+
		"INSERT INTO session_note VALUES ('"+fakesessiondb.Plan+"', 'rye', NULL), ('"+fakesessiondb.Plan+"', 'rye', NULL), ('"+fakesessiondb.Fork+"', 'rye', 1)")
	before, whole := saved(t, f), everything(t, f)
	w := sessiondbHeld(t, f)
	done, err := w.Remove(t.Context(), sessiondb.Removal{
		Sessions: sessiondbProofs(before, fakesessiondb.Plan, fakesessiondb.Child, fakesessiondb.Small),
		Journals: sessiondbProofs(before, fakesessiondb.Fork, fakesessiondb.Revert),
	})
	if err != nil || done.Sessions != 3 || done.Events == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := errors.Join(w.Vacuum(t.Context()), w.Check(t.Context()), w.Close()); err != nil {
		t.Fatal(err)
	}
	after := saved(t, f)
	if len(after) != 4 || len(after[fakesessiondb.Fork+".journal"]) >= len(before[fakesessiondb.Fork+".journal"]) {
		t.Error(len(after))
	}
	for _, row := range everything(t, f) {
		if strings.Contains(row, fakesessiondb.Plan) || strings.Contains(row, fakesessiondb.Small) {
			t.Error("left behind:", row)
		}
	}
	w = sessiondbHeld(t, f)
	if again, err := w.Remove(t.Context(), sessiondb.Removal{Sessions: sessiondbProofs(before, fakesessiondb.Small)}); err != nil || len(again.Gone) != 1 {
		t.Error(again, err)
	}
	var back [][]byte
	for _, id := range []string{fakesessiondb.Plan, fakesessiondb.Child, fakesessiondb.Small, fakesessiondb.Fork, fakesessiondb.Revert} {
		back = append(back, before[id+".journal"])
		if id != fakesessiondb.Fork && id != fakesessiondb.Revert {
			back = append(back, before[id])
		}
	}
	n, err := w.Insert(t.Context(), sessiondbLogs(back...))
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	if n, err := w.Insert(t.Context(), sessiondbLogs(back...)); err != nil || n != 0 {
		t.Error("put back again:", n, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The secret of the shared session is in no archive: it alone is lost.
	whole = slices.DeleteFunc(whole, func(row string) bool { return strings.HasPrefix(row, "session_share ") })
	if d := cmp.Diff(whole, everything(t, f)); d != "" {
		t.Errorf("(-before +after)\n%s", d)
	}
}

// Nothing is removed of a session that is not what its archive holds, nor of any
// other in the same run; and nothing while a program has the database open.
func TestSessiondbRemoveNothingThatIsNotProved(t *testing.T) {
	for name, change := range map[string]string{
		"a part changed":   "UPDATE part SET data = replace(data, 'rye', 'oats') WHERE session_id = '" + fakesessiondb.Fork + "'",
		"a time changed":   "UPDATE message SET time_updated = time_updated + 1 WHERE session_id = '" + fakesessiondb.Fork + "'",
		"a message came":   "INSERT INTO message SELECT 'msg_zz', session_id, time_created, time_updated, data FROM message WHERE session_id = '" + fakesessiondb.Fork + "' LIMIT 1",
		"a todo came":      "INSERT INTO todo VALUES ('" + fakesessiondb.Fork + "', 'x', 'y', 'z', 9, 1, 1)",
		"an event came":    "INSERT INTO event SELECT 'evt_zz', aggregate_id, 999, type, data FROM event WHERE aggregate_id = '" + fakesessiondb.Fork + "' LIMIT 1",
		"the journal went": "DELETE FROM event_sequence WHERE aggregate_id = '" + fakesessiondb.Fork + "'",
	} {
		f := sessiondbStory(t)
		before := saved(t, f)
		db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path())+"?_pragma=foreign_keys(1)")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(change); err != nil {
			t.Fatal(name, err)
		}
		if _, err := sessiondb.Hold(t.Context(), f); !errors.Is(err, session.ErrBusy) {
			t.Error("a program has it open:", err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		whole := everything(t, f)
		w := sessiondbHeld(t, f)
		_, err = w.Remove(t.Context(), sessiondb.Removal{Sessions: sessiondbProofs(before, fakesessiondb.Small, fakesessiondb.Fork)})
		if !errors.Is(err, session.ErrBusy) {
			t.Error(name, err)
		}
		if name == "an event came" {
			if _, err := w.Remove(t.Context(), sessiondb.Removal{Journals: sessiondbProofs(before, fakesessiondb.Fork)}); !errors.Is(err, session.ErrBusy) {
				t.Error(name, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(whole, everything(t, f)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Rows of which nothing is archived do not go with a session, whatever ties them
// to it.
func TestSessiondbRemoveNothingThatIsNotArchived(t *testing.T) {
	const fork = fakesessiondb.Fork
	for name, change := range map[string]string{
		"a key of two columns":            "CREATE UNIQUE INDEX two ON session (id, project_id); CREATE TABLE pair (sid TEXT, pid TEXT, FOREIGN KEY (sid, pid) REFERENCES session(id, project_id) ON DELETE CASCADE); INSERT INTO pair SELECT id, project_id FROM session",
		"a table that looks like secrets": "CREATE TABLE token_usage (session_id TEXT REFERENCES session(id) ON DELETE CASCADE, n INTEGER); INSERT INTO token_usage SELECT id, 1 FROM session",
		"a reference that is cleared":     "CREATE TABLE bookmark (sid TEXT REFERENCES session(id) ON DELETE SET NULL, text TEXT); INSERT INTO bookmark SELECT id, 'x' FROM session",
		"a trigger":                       "CREATE TABLE side (id TEXT); INSERT INTO side VALUES ('1'), ('2'); CREATE TRIGGER gone AFTER DELETE ON session BEGIN DELETE FROM side; END",
		"events that nothing counts":      "DELETE FROM event_sequence WHERE aggregate_id = '" + fork + "'",
	} {
		t.Run(name, func(t *testing.T) {
			f := sessiondbStory(t)
			sessiondbDo(t, f, change)
			before, whole := saved(t, f), everything(t, f)
			w := sessiondbHeld(t, f)
			_, err := w.Remove(t.Context(), sessiondb.Removal{Sessions: sessiondbProofs(before, fork)})
			if err := errors.Join(w.Close()); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(err, sessiondb.ErrNotArchived) {
				t.Error(err)
			}
			if d := cmp.Diff(whole, everything(t, f)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Rows of tables that nobody knew belong to a session by the foreign keys of the
// database: they are in its log, go with it, and come back as they were.
func TestSessiondbForeignKeys(t *testing.T) {
	const fork = fakesessiondb.Fork
	for name, change := range map[string]string{
		"a table below messages":         "CREATE TABLE attachment (message_id TEXT REFERENCES message(id) ON DELETE CASCADE, data BLOB); INSERT INTO attachment SELECT id, x'00' FROM message",
		"a table with a name of its own": "CREATE TABLE session_note (sid TEXT REFERENCES session(id) ON DELETE CASCADE, text TEXT); INSERT INTO session_note SELECT id, 'x' FROM session",
		"a table below that":             "CREATE TABLE zed (sid TEXT PRIMARY KEY REFERENCES session ON DELETE CASCADE, text TEXT); INSERT INTO zed SELECT id, 'x' FROM session; CREATE TABLE below (z TEXT REFERENCES zed(sid) ON DELETE CASCADE, text TEXT); INSERT INTO below SELECT sid, 'y' FROM zed",
		"a table that refers to itself":  "CREATE TABLE tree (id TEXT PRIMARY KEY, up TEXT REFERENCES tree(id) ON DELETE CASCADE, session_id TEXT REFERENCES session(id) ON DELETE CASCADE); INSERT INTO tree SELECT id, id, id FROM session",
	} {
		t.Run(name, func(t *testing.T) {
			f := sessiondbStory(t)
			sessiondbDo(t, f, change)
			before, whole := saved(t, f), everything(t, f)
			w := sessiondbHeld(t, f)
			_, err := w.Remove(t.Context(), sessiondb.Removal{Sessions: sessiondbProofs(before, fork)})
			if err == nil {
				_, err = w.Insert(t.Context(), sessiondbLogs(before[fork], before[fork+".journal"]))
			}
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(whole, everything(t, f)); d != "" {
				t.Error(d)
			}
		})
	}
}

// An event whose number is below zero is archived like the others, and comes back.
func TestSessiondbEventsBeforeTheFirst(t *testing.T) {
	const fork = fakesessiondb.Fork
	f := sessiondbStory(t)
	sessiondbDo(t, f, "INSERT INTO event SELECT 'evt_zz', aggregate_id, -5, type, data FROM event WHERE aggregate_id = '"+fork+"' LIMIT 1")
	before, whole := saved(t, f), everything(t, f)
	if !bytes.Contains(before[fork+".journal"], []byte("evt_zz")) {
		t.Error("not archived")
	}
	w := sessiondbHeld(t, f)
	done, err := w.Remove(t.Context(), sessiondb.Removal{Sessions: sessiondbProofs(before, fork)})
	if err != nil || done.Sessions != 1 {
		t.Fatal(done, err)
	}
	if _, err := w.Insert(t.Context(), sessiondbLogs(before[fork], before[fork+".journal"])); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(whole, everything(t, f)); d != "" {
		t.Error(d)
	}
}

// A session goes whole with what its agents have begun, in whatever order.
func TestSessiondbRemoveAFamily(t *testing.T) {
	for _, order := range [][]string{{fakesessiondb.Plan, fakesessiondb.Child}, {fakesessiondb.Child, fakesessiondb.Plan}} {
		f := sessiondbStory(t)
		sessiondbDo(t, f, "CREATE TABLE mark (session_id TEXT, text TEXT); INSERT INTO mark SELECT id, 'x' FROM session")
		before := saved(t, f)
		w := sessiondbHeld(t, f)
		done, err := w.Remove(t.Context(), sessiondb.Removal{Sessions: sessiondbProofs(before, order...)})
		if err := errors.Join(err, w.Close()); err != nil || done.Sessions != 2 {
			t.Error(order, done, err)
		}
	}
}

// An event that says only what has changed does not make an older one needless.
func TestSessiondbPartialEventsSupersedeNothing(t *testing.T) {
	f := sessiondbStory(t)
	sessiondbDo(t, f, "INSERT INTO event SELECT 'evt_t' || n, '"+fakesessiondb.Small+"', 900 + n, 'session.updated.1', d FROM "+
		`(SELECT 1 n, '{"info":{"onlyhere":"a"}}' d UNION SELECT 2, '{"info":{"other":1}}' UNION SELECT 3, '{"info":{"other":2}}')`)
	before := saved(t, f)
	w := sessiondbHeld(t, f)
	_, err := w.Remove(t.Context(), sessiondb.Removal{Journals: sessiondbProofs(before, fakesessiondb.Small)})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	left := string(saved(t, f)[fakesessiondb.Small+".journal"])
	if !strings.Contains(left, "onlyhere") || strings.Contains(left, "evt_t2") || !strings.Contains(left, "evt_t3") {
		t.Error(left)
	}
}

// sessiondbDo changes a database as another program would.
func sessiondbDo(t *testing.T, f sessiondb.File, change string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(change); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	age(t, f)
}

// A session that is there with other rows is not mixed with an archived one, and
// what is no row of a session is not put anywhere.
func TestSessiondbInsertNothingElse(t *testing.T) {
	f := sessiondbStory(t)
	before, whole := saved(t, f), everything(t, f)
	w := sessiondbHeld(t, f)
	for name, log := range map[string]string{
		"other rows":        strings.ReplaceAll(string(before[fakesessiondb.Fork]), "rye", "oats"),
		"a secret":          `{"type":"row","table":"session_share","row":{"session_id":"` + fakesessiondb.Fork + `","id":"x","secret":"y","url":"z","time_created":1,"time_updated":1}}`,
		"an account":        `{"type":"row","table":"credential","row":{"id":"x"}}`,
		"no such table":     `{"type":"row","table":"nowhere","row":{"id":"x"}}`,
		"no such column":    `{"type":"message","row":{"id":"x","nothing":1}}`,
		"an order":          `{"type":"message","row":{"id\") VALUES (1); DROP TABLE part; --":"x"}}`,
		"no row":            `{"type":"message"}`,
		"another log":       `{"type":"session","version":3}`,
		"not JSON":          "hello",
		"without a session": `{"type":"message","row":{"id":"msg_x","session_id":"ses_nobody","time_created":1,"time_updated":1},"payload":{}}`,
	} {
		if n, err := w.Insert(t.Context(), sessiondbLogs(before[fakesessiondb.Small], []byte(log))); err == nil {
			t.Error(name, n)
		} else if name == "other rows" && !errors.Is(err, rowlog.ErrDifferent) {
			t.Error(name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(whole, everything(t, f)); d != "" {
		t.Error(d)
	}
}

// Superseded events are those whose object has a newer one; that of a session
// that is synced to a workspace are somebody else's too.
func TestSessiondbSuperseded(t *testing.T) {
	f := sessiondbStory(t)
	db, err := sessiondb.Open(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err := db.Superseded(t.Context(), fakesessiondb.Small)
	// Of two messages the first states.
	if err != nil || got.Events != 2 || got.Bytes == 0 || got.Synced {
		t.Errorf("%+v, %v", got, err)
	}
	for _, change := range []string{"UPDATE session SET workspace_id = 'wrk_1'", "UPDATE event_sequence SET owner_id = 'somebody'"} {
		f := sessiondbStory(t)
		other, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Exec(change); err != nil {
			t.Fatal(err)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
		before := saved(t, f)
		w := sessiondbHeld(t, f)
		done, err := w.Remove(t.Context(), sessiondb.Removal{Journals: sessiondbProofs(before, fakesessiondb.Small)})
		if err := errors.Join(err, w.Close()); err != nil || done.Events != 0 {
			t.Error(change, done, err)
		}
		if d := cmp.Diff(fmt.Sprint(before), fmt.Sprint(saved(t, f))); d != "" {
			t.Error(change, d)
		}
	}
}

// Events are found by their numbers: a journal in which that would miss some, or go
// on for ever, is not read.
func TestSessiondbJournalWithOtherNumbers(t *testing.T) {
	const of = " WHERE aggregate_id = '" + fakesessiondb.Small + "'"
	for name, change := range map[string]string{
		"texts":          "UPDATE event SET seq = 'n' || seq" + of,
		"the same twice": "UPDATE event SET data = data || printf('%300000s', ''), seq = 0" + of + " AND seq < 2",
	} {
		t.Run(name, func(t *testing.T) {
			f := sessiondbStory(t)
			d, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.Exec("DROP INDEX event_aggregate_seq_idx; " + change); err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			age(t, f)
			db, err := sessiondb.Open(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			log, err := db.Journal(t.Context(), fakesessiondb.Small)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, io.LimitReader(log, 4<<20)); !errors.Is(err, sessiondb.ErrSchema) {
				t.Errorf("%v", err)
			}
		})
	}
}
