package adapters_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakesessiondb"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/internal/storetest"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/opencode"
	"github.com/sessctl/sessctl/pkg/session/opencode/sessiondb"
)

// opencodeTold is the store of a test with the story in it; live leaves all of it in the
// write-ahead log, as the real program does.
func opencodeTold(t *testing.T, live bool) (*opencode.Store, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "opencode")
	path := filepath.Join(root, "opencode.db")
	if live {
		from := filepath.Join(t.TempDir(), "a.db")
		d := fakesessiondb.Create(from)
		fakesessiondb.Story(d)
		if err := d.Leave(from, path); err != nil {
			t.Fatal(err)
		}
	} else {
		d := fakesessiondb.Create(path)
		fakesessiondb.Story(d)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Age(t, root)
	return storetest.Opened(t, opencode.Open(session.RuntimeOpenCode, root)), path
}

// One story, whether the database has it or only its log: the sessions, whose
// they are, and how large their contexts are by the runtime's own count, which
// leaves out of its input what came from the cache.
func TestOpencodeListAndSizes(t *testing.T) {
	for _, live := range []bool{false, true} {
		s, path := opencodeTold(t, live)
		refs := storetest.Listed(t, s)
		var got []string
		for id, ref := range refs {
			tail, err := s.Tail(t.Context(), ref)
			if err != nil {
				t.Fatal(id, err)
			}
			got = append(got, fmt.Sprintf("%s %s parent=%q primary=%v %d %s %d answered=%v %s", id, ref.Agent, ref.Parent, ref.Primary, tail.Tokens, tail.TokenSource, tail.Messages, tail.Answered, ref.State))
			if ref.Path != path+"#"+id || ref.Kind != session.KindStored || ref.Bytes == 0 || ref.Model != "mock-large" {
				t.Errorf("%+v", ref)
			}
			if err := s.Busy(t.Context(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: time.Minute}); err != nil {
				t.Error(id, err)
			}
			if err := s.Busy(t.Context(), session.BusyQuestion{Ref: ref, Now: ref.ModTime.Add(time.Second), Quiet: time.Minute}); !errors.Is(err, session.ErrBusy) {
				t.Error(id, "a second after it was changed:", err)
			}
		}
		sort.Strings(got)
		want := []string{
			fakesessiondb.Revert + ` home-lea-bakery parent="" primary=true 8094 usage 4 answered=true idle`,
			fakesessiondb.Small + ` home-lea-bakery parent="" primary=true 5 estimate 2 answered=true idle`,
			fakesessiondb.Fork + ` home-lea-bakery parent="" primary=true 8459 usage 4 answered=true idle`,
			fakesessiondb.Child + ` home-lea-bakery parent="` + fakesessiondb.Plan + `" primary=false 5012 usage 2 answered=true idle`,
			fakesessiondb.Plan + ` home-lea-bakery parent="" primary=true 8469 usage 15 answered=true idle`,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("live %v (-want +got):\n%s", live, d)
		}
	}
}

// texts are all texts of a session as SQLite's own JSON reads them from the
// tables: another decoder, and none of ours. Of a call its output or error.
const textsQuery = `
SELECT coalesce(json_extract(p.data, '$.text'), json_extract(p.data, '$.state.output'), json_extract(p.data, '$.state.error'), '')
FROM part p JOIN message m ON m.id = p.message_id
WHERE m.session_id = ? AND json_extract(p.data, '$.type') IN ('text', 'reasoning', 'tool') AND coalesce(json_extract(p.data, '$.state.status'), '') NOT IN ('pending', 'running')
ORDER BY m.time_created, m.id, p.id`

// opencodeCompareWithTables compares what a scan says of every session of a database
// with the tables.
func opencodeCompareWithTables(t *testing.T, s *opencode.Store, path string) (messages int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)) // a copy of the test's own
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for id, ref := range storetest.Listed(t, s) {
		var got []string
		calls := 0
		scan, err := s.Scan(t.Context(), bytes.NewReader(storetest.LogOf(t, s, ref)), session.ScanOptions{Thinking: true}, func(m *session.Message) error {
			for _, p := range m.Parts {
				switch p.Kind {
				case session.PartText, session.PartThinking:
					got = append(got, string(p.Text))
				case session.PartToolCall:
					calls++
				}
			}
			return nil
		})
		if err != nil || len(scan.Unknown) > 0 || scan.Counts.Bad > 0 || scan.SessionID != id {
			t.Error(id, err, scan.Unknown, scan.Counts, scan.SessionID)
		}
		var want []string
		rows, err := db.Query(textsQuery, id)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			want = append(want, text)
		}
		var records, tools int
		err = db.QueryRow("SELECT (SELECT count(*) FROM message WHERE session_id = ?1), (SELECT count(*) FROM part WHERE session_id = ?1 AND json_extract(data, '$.type') = 'tool')", id).Scan(&records, &tools)
		if err := errors.Join(err, rows.Err()); err != nil || scan.Records != records || calls != tools {
			t.Error(id, err, scan.Records, records, calls, tools)
		}
		sort.Strings(got) // results follow their calls, whatever is said between
		sort.Strings(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-tables +scan):\n%s", id, d)
		}
		messages += records
	}
	return messages
}

func TestOpencodeScanLikeTheTables(t *testing.T) {
	s, path := opencodeTold(t, false)
	if n := opencodeCompareWithTables(t, s, path); n != 27 {
		t.Errorf("%d messages", n)
	}
}

// The databases of the real programs, where they are beside the project.
func TestOpencodeSamples(t *testing.T) {
	paths := samples.Matching(t, "samples-newer/opencode-*/*/opencode.db", "samples-newer/kilo-*/*/kilo.db")
	if len(paths) == 0 {
		t.Skip("no samples beside the module")
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		root := t.TempDir()
		to := filepath.Join(root, filepath.Base(path))
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if n := opencodeCompareWithTables(t, storetest.Opened(t, opencode.Open(session.RuntimeOpenCode, root)), to); n < 20 {
			t.Errorf("%s: %d messages", path, n)
		}
		checkRoundTrip(t, storetest.Opened(t, opencode.Open(session.RuntimeOpenCode, root)), to)
	}
}

// dump is every row of a session in all tables but the journal and what holds
// secrets, as SQLite itself quotes it.
func dump(t *testing.T, path, id string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var b strings.Builder
	for _, table := range []struct{ name, where string }{{"session", "id = ?"}, {"message", "session_id = ?"}, {"part", "session_id = ?"}, {"todo", "session_id = ?"}} {
		rows, err := db.Query("SELECT name FROM pragma_table_info(?)", table.name)
		if err != nil {
			t.Fatal(err)
		}
		var quotes []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			quotes = append(quotes, fmt.Sprintf("quote(%q)", name))
		}
		if rows, err = db.Query("SELECT "+strings.Join(quotes, " || ',' || ")+" FROM "+table.name+" WHERE "+table.where+" ORDER BY 1", id); err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, table.name, text)
		}
	}
	return b.String()
}

// checkRoundTrip puts the rows of every session's log into an empty database and
// compares the two.
func checkRoundTrip(t *testing.T, s *opencode.Store, path string) {
	t.Helper()
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := fakesessiondb.Create(empty).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(empty))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for id, ref := range storetest.Listed(t, s) {
		for line := range bytes.Lines(storetest.LogOf(t, s, ref)) {
			row, ok, err := sessiondb.ReadRow(line)
			if err != nil {
				t.Fatal(err)
			}
			if !ok || row.Table == "project" {
				continue
			}
			marks := strings.TrimSuffix(strings.Repeat("?,", len(row.Values)), ",")
			if _, err := db.Exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", row.Table, strings.Join(row.Columns, ","), marks), row.Values...); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(dump(t, path, id), dump(t, empty, id)); d != "" {
			t.Errorf("%s (-before +after):\n%s", id, d)
		}
	}
}

// The log of a session holds its rows as they were, the odd ones too, and
// nothing that opens anything.
func TestOpencodeLogHoldsTheRows(t *testing.T) {
	s, path := opencodeTold(t, false)
	checkRoundTrip(t, s, path)
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range []any{"{\"type\":\"text\",\n\"text\":\"two lines\"}", "not JSON", "", "{", "\"\\ud800\"", "{\"type\":\"text\",\"text\":\"\xff\"}", "a\x00b", []byte{0, 1, 255}, 42, 0.1, 3.0, 1e300, nil, "{\"type\":\"text\",\"text\":\"a\u2028b\x7f\"}"} {
		if _, err := db.Exec("INSERT INTO part SELECT 'prt_zz' || ?, message_id, session_id, ?, time_updated, ifnull(?, x'00') FROM part WHERE session_id = ? LIMIT 1", i, float64(i)+0.5, data, fakesessiondb.Small); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Age(t, filepath.Dir(path))
	s = storetest.Opened(t, opencode.Open(session.RuntimeOpenCode, filepath.Dir(path)))
	checkRoundTrip(t, s, path)
	for _, ref := range storetest.Listed(t, s) {
		log := storetest.LogOf(t, s, ref)
		if bytes.Contains(log, []byte("not-for-the-archive")) {
			t.Error("the secret of a shared session is in its log")
		}
		for line := range bytes.Lines(log) {
			if !json.Valid(line) {
				t.Errorf("not JSON: %q", line)
			}
		}
		if again := storetest.LogOf(t, s, ref); !bytes.Equal(log, again) {
			t.Error("another log of the same rows")
		}
	}
}

// What was taken back is abandoned, what a compaction put away is not in the
// context any more, and what it kept is.
func TestOpencodeBranchesAndCompaction(t *testing.T) {
	s, _ := opencodeTold(t, false)
	refs := storetest.Listed(t, s)
	var abandoned []string
	var kept session.Context[string]
	for _, id := range []string{fakesessiondb.Revert, fakesessiondb.Plan} {
		_, err := s.Scan(t.Context(), bytes.NewReader(storetest.LogOf(t, s, refs[id])), session.ScanOptions{}, func(m *session.Message) error {
			first := ""
			if len(m.Parts) > 0 {
				first = string(m.Parts[0].Text)
			}
			switch {
			case m.Branch == session.Abandoned:
				abandoned = append(abandoned, first)
			case id == fakesessiondb.Revert:
			case m.Compaction:
				kept.Pass(m)
				n, found := kept.Kept(m)
				if !found {
					t.Error("what the compaction kept is not found")
				}
				kept.Drop(n)
				kept.Add(m, first)
			default:
				kept.Add(m, first)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"Move everything to Sunday", "Everything is on Sunday now."}, abandoned); d != "" {
		t.Error(d)
	}
	if !slices.Contains(kept.Entries, "The third tray is too dark.") || slices.Contains(kept.Entries, "list the files here") || !slices.Contains(kept.Entries, "I begin with the invoi") {
		t.Errorf("%q", kept.Entries)
	}
}

// What cannot be read is said, and stands for its sessions; what is of another
// program is passed over.
func TestOpencodeMalformed(t *testing.T) {
	plain := func(query string) func(path string) error {
		return func(path string) error {
			db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
			if err != nil {
				return err
			}
			_, err = db.Exec(query)
			return errors.Join(err, db.Close())
		}
	}
	for name, c := range map[string]struct {
		file          string
		make          func(path string) error
		refs, notices int
		unread        bool
	}{
		"another program's":       {"cache.db", plain("CREATE TABLE x (y)"), 0, 0, false},
		"without the tables":      {"opencode.db", plain("CREATE TABLE x (y)"), 1, 1, true},
		"without a column":        {"opencode-dev.db", plain("CREATE TABLE session (id); CREATE TABLE message (id); CREATE TABLE part (id)"), 1, 1, true},
		"no database":             {"opencode.db", func(path string) error { return os.WriteFile(path, []byte("hello, this is text\n"), 0o600) }, 1, 1, true},
		"empty":                   {"opencode.db", func(path string) error { return os.WriteFile(path, nil, 0o600) }, 1, 1, true},
		"a directory":             {"opencode.db", func(path string) error { return os.Mkdir(path, 0o700) }, 1, 1, true},
		"an id that is a path":    {"opencode.db", storyWith("PRAGMA foreign_keys = off; UPDATE session SET id = '../evil' WHERE id = '" + fakesessiondb.Small + "'; UPDATE message SET session_id = '../evil' WHERE session_id = '" + fakesessiondb.Small + "'"), 4, 1, true},
		"no journal":              {"opencode.db", storyWith("DROP TABLE event; DROP TABLE event_sequence"), 5, 0, false},
		"a parent that is itself": {"opencode.db", storyWith("UPDATE session SET parent_id = id"), 5, 0, false},
		"a table of tomorrow":     {"opencode.db", storyWith("CREATE TABLE session_board (id, session_id, note); INSERT INTO session_board VALUES (1, '" + fakesessiondb.Small + "', 'x')"), 5, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := c.make(filepath.Join(root, c.file)); err != nil {
				t.Fatal(err)
			}
			storetest.Age(t, root)
			s := storetest.Opened(t, opencode.Open(session.RuntimeOpenCode, root))
			listing, err := s.List(t.Context())
			if err != nil || len(listing.Refs) != c.refs || len(listing.Notices) != c.notices {
				t.Fatalf("%d sessions, %v, %v", len(listing.Refs), listing.Notices, err)
			}
			if c.notices > 0 && listing.Notices[0].Unread != c.unread {
				t.Errorf("%+v", listing.Notices)
			}
			for _, ref := range listing.Refs {
				if ref.Kind != session.KindStored {
					continue
				}
				scan, err := s.Scan(t.Context(), bytes.NewReader(storetest.LogOf(t, s, ref)), session.ScanOptions{}, func(*session.Message) error { return nil })
				if tomorrow := scan.Unknown["table session_board"]; err != nil || name == "a table of tomorrow" && ref.ID == fakesessiondb.Small && tomorrow != 1 {
					t.Error(err, scan.Unknown)
				}
			}
		})
	}
}

func storyWith(query string) func(path string) error {
	return func(path string) error {
		d := fakesessiondb.Create(path)
		fakesessiondb.Story(d)
		d.Do("PRAGMA foreign_keys=OFF;" + query)
		return d.Close()
	}
}

// A reference of another store, or made up, opens nothing.
func TestOpencodeForeignReferences(t *testing.T) {
	s, path := opencodeTold(t, false)
	for _, p := range []string{path, path + "#", path + "#../x", "/etc/passwd#ses_1", filepath.Join(t.TempDir(), "opencode.db") + "#ses_1"} {
		if _, err := s.OpenLog(t.Context(), session.Ref{Path: p, Kind: session.KindStored}); err == nil {
			t.Error("opened", p)
		}
	}
	if _, err := s.OpenLog(t.Context(), session.Ref{Path: path + "#ses_none", Kind: session.KindStored}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := s.Scan(context.Background(), strings.NewReader("{\"id\":\"ses_1\"}\n"), session.ScanOptions{}, nil); !errors.Is(err, session.ErrUnknownFormat) {
		t.Error(err)
	}
}

var update = flag.Bool("update", false, "write the golden files")

// The logs of the story are those of the repository: archives hold such lines
// for ever.
func TestOpencodeLogsStayWhatTheyAre(t *testing.T) {
	s, _ := opencodeTold(t, false)
	refs := storetest.Listed(t, s)
	for name, id := range map[string]string{"plan": fakesessiondb.Plan, "revert": fakesessiondb.Revert, "small": fakesessiondb.Small} {
		path := filepath.Join("..", "..", "..", "testdata", "opencode", name+".jsonl")
		got := storetest.LogOf(t, s, refs[id])
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
		if f := session.Detect(path, got); f != session.FormatOpenCode {
			t.Error(path, f)
		}
	}
}
