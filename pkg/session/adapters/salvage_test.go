package adapters_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/fakestatedb"
	"github.com/sessctl/sessctl/internal/storetest"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/hermes"
	"github.com/sessctl/sessctl/pkg/session/opencode"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// TestHermesDamagedPage: a damaged page hides the session that lies on it, and no
// other.
func TestHermesDamagedPage(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "state.db")
	d := fakestatedb.Told(path, 30)
	for i := range 12 {
		d.Do(fmt.Sprintf("INSERT INTO sessions (id, source, started_at) VALUES ('20260901_1012%02d_abc%03d', 'cli', %d)", i, i, 1788250000+i))
		for j := range 8 {
			text := strings.Repeat(fmt.Sprintf("session %d message %d, ", i, j), 60)
			d.Do(fmt.Sprintf("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('20260901_1012%02d_abc%03d', 'user', '%s', %d)", i, i, text, 1788250000+i+j))
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	damagePage(t, path, "session 7 message 3,")
	storetest.Age(t, root)
	s := storetest.Opened(t, hermes.Open(root))
	listing, err := s.List(t.Context())
	if err != nil || len(listing.Notices) != 1 || listing.Notices[0].Cause != session.CauseDamaged || !listing.Notices[0].Unread {
		t.Fatalf("%v, %+v", err, listing.Notices)
	}
	read := 0
	for _, ref := range listing.Refs {
		if !strings.Contains(ref.ID, "_abc0") {
			continue
		}
		tail, err := s.Tail(t.Context(), ref)
		lost := strings.HasSuffix(ref.ID, "_abc007")
		if (err != nil) != lost || !lost && tail.Messages != 8 {
			t.Errorf("%s: %d messages, %v", ref.ID, tail.Messages, err)
		}
		if !lost {
			read++
		}
	}
	if read != 11 {
		t.Errorf("%d of 12 sessions were read", read)
	}
}

// TestWithoutIndexes: the logs of a database that has lost its indexes are the same, and
// no session reads its tables as a whole. A damaged page hides none of them.
func TestWithoutIndexes(t *testing.T) {
	s, path := hermesTold(t, 30, false, "INSERT INTO messages (session_id, role, content, timestamp) SELECT id, 'user', 'zebra crossing', 1788250000 FROM sessions LIMIT 1")
	want := hermesCompareWithTables(t, s, path)
	dropIndexes(t, path)
	s = storetest.Opened(t, hermes.Open(filepath.Dir(path)))
	if got := hermesCompareWithTables(t, s, path); got != want || got == 0 {
		t.Errorf("Hermes: %d messages, %d with indexes", got, want)
	}
	listing, err := s.List(t.Context())
	gooseMust(t, err)
	sessions := len(listing.Refs)
	damagePage(t, path, "zebra crossing")
	storetest.Age(t, filepath.Dir(path))
	listing, err = storetest.Opened(t, hermes.Open(filepath.Dir(path))).List(t.Context())
	if err != nil || len(listing.Refs) != sessions || listing.Notices[0].Cause != session.CauseDamaged || !strings.Contains(listing.Notices[0].Message, "has no index") {
		t.Errorf("%v %+v", err, listing)
	}
	o, path := opencodeTold(t, false)
	want = opencodeCompareWithTables(t, o, path)
	dropIndexes(t, path)
	o = storetest.Opened(t, opencode.Open(session.RuntimeOpenCode, filepath.Dir(path)))
	if got := opencodeCompareWithTables(t, o, path); got != want || got == 0 {
		t.Errorf("OpenCode: %d messages, %d with indexes", got, want)
	}
}

func dropIndexes(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	gooseMust(t, err)
	defer db.Close()
	names, err := rowlog.Column[string](t.Context(), rowlog.For(db, "list"), "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
	gooseMust(t, err)
	for _, name := range names {
		_, err := db.ExecContext(t.Context(), "DROP INDEX "+rowlog.Quoted(name))
		gooseMust(t, err)
	}
	tables, err := rowlog.ReadTables(t.Context(), db)
	gooseMust(t, err)
	conn, err := db.Conn(t.Context())
	gooseMust(t, err)
	defer conn.Close()
	gooseMust(t, tables.Seek(t.Context(), conn, "session_id", "message_id"))
	table := tables["part"]
	if table.Name == "" {
		table = tables["messages"]
	}
	var id, parent, unused, plan string
	err = conn.QueryRowContext(t.Context(), "EXPLAIN QUERY PLAN SELECT * FROM "+table.Name+" WHERE "+table.Of("session_id", "'x'")).Scan(&id, &parent, &unused, &plan)
	if err != nil || !strings.HasPrefix(plan, "SEARCH "+table.Name+" USING INTEGER PRIMARY KEY") {
		t.Errorf("%s: %v", plan, err)
	}
	storetest.Age(t, filepath.Dir(path))
}

// damagePage overwrites the page of a database that has a text.
func damagePage(t *testing.T, path, text string) {
	t.Helper()
	const page = 4096
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(text))
	if at < page {
		t.Fatalf("%q is at %d", text, at)
	}
	at -= at % page
	copy(data[at:at+page], bytes.Repeat([]byte{0xA5}, page))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
