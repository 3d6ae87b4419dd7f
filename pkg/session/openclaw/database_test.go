package openclaw_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
)

const createEvents = "CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL)"

// database is the first page of a SQLite database with a table of transcripts.
func database() []byte { return page(1, 0x0d, createEvents) }

// page is a page of 4096 bytes: number 1 has the file's header.
func page(number int, kind byte, text string) []byte {
	p := make([]byte, 4096)
	start := 0
	if number == 1 {
		copy(p, "SQLite format 3\x00")
		binary.BigEndian.PutUint16(p[16:], 4096)
		start = 100
	}
	p[start] = kind
	copy(p[len(p)-len(text):], text)
	return p
}

// inner is the first page of a database whose schema has a page of its own.
func inner(cell, right uint32) []byte {
	p := page(1, 0x05, "")
	binary.BigEndian.PutUint16(p[103:], 1)
	binary.BigEndian.PutUint32(p[108:], right)
	binary.BigEndian.PutUint16(p[112:], 4000)
	binary.BigEndian.PutUint32(p[4000:], cell)
	return p
}

func TestDatabaseIsRecognised(t *testing.T) {
	far := func(cell, right uint32, text string) []byte {
		pages := append(inner(cell, right), make([]byte, 600*4096)...)
		copy(pages[599*4096:], page(600, 0x0d, text))
		return pages
	}
	for name, c := range map[string]struct {
		db, wal []byte
		found   bool
	}{
		"in the schema":           {db: database(), found: true},
		"quoted":                  {db: page(1, 0x0d, `CREATE TABLE "transcript_events" (`), found: true},
		"only in the log":         {db: page(1, 0x0d, "CREATE TABLE schema_meta ("), wal: append(make([]byte, 56+4096-64), createEvents...), found: true},
		"across two reads":        {db: page(1, 0x0d, ""), wal: append(make([]byte, 256<<10-20), createEvents...), found: true},
		"far away, left child":    {db: far(600, 2, createEvents), found: true},
		"far away, right child":   {db: far(3, 600, createEvents), found: true},
		"far away, no page of it": {db: far(3, 4, createEvents)},
		"page beyond the end":     {db: inner(70000, 4)},
		"circular pages":          {db: inner(1, 1)},
		"credentials only":        {db: page(1, 0x0d, "CREATE TABLE auth_profiles (id TEXT)")},
		"another table's name":    {db: page(1, 0x0d, "CREATE TABLE x (transcript_events TEXT)")},
		"no database":             {db: []byte("hello " + createEvents)},
		"empty":                   {},
		"cut inside the header":   {db: database()[:50]},
		"page size of nonsense":   {db: append([]byte("SQLite format 3\x00\x00\x07"), make([]byte, 200)...)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMain(t)
			path := filepath.Join(s.root, "agents", agent, "agent", "openclaw-agent.sqlite")
			s.write(path, string(c.db))
			if c.wal != nil {
				s.write(path+"-wal", string(c.wal))
			}
			before := s.tree()
			refs := s.list().Refs
			wantTree(t, before, s.tree())
			if c.found {
				wantDatabase(t, s, path, refs)
			} else if len(refs) != 1 || !refs[0].Primary || refs[0].State != session.StateIdle {
				t.Errorf("%+v", refs)
			}
		})
	}
}

func wantDatabase(t *testing.T, s *state, path string, refs []session.Ref) {
	t.Helper()
	if len(refs) != 2 {
		t.Fatalf("%+v", refs)
	}
	db, leftover := refs[0], refs[1]
	command := `openclaw gateway call sessions.reset --params '{"key":"agent:coordinator:main"}'`
	if db.Kind != session.KindDatabase || db.Path != path || db.Key != mainKey || db.State != session.StateUnsupported || !strings.Contains(db.Reason, command) {
		t.Errorf("%+v", db)
	}
	if leftover.Primary || leftover.State != session.StateUnsupported || !strings.Contains(leftover.Reason, "doctor") {
		t.Errorf("%+v", leftover)
	}
	for _, ref := range refs {
		_, err := s.PlanRotation(context.Background(), ref, session.Snapshot{}, time.Now())
		if !errors.Is(err, session.ErrUnsupported) {
			t.Errorf("PlanRotation of %s: %v", ref.Path, err)
		}
	}
	if _, err := s.Tail(context.Background(), db); !errors.Is(err, session.ErrUnknownFormat) {
		t.Errorf("Tail: %v", err)
	}
}

// A database that cannot be looked at may hold the sessions.
func TestDatabaseThatCannotBeRead(t *testing.T) {
	s := newMain(t)
	path := filepath.Join(s.root, "agents", agent, "agent", "openclaw-agent.sqlite")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if ref := s.ref(mainID + ".jsonl"); ref.State != session.StateUnsupported || ref.Primary || !strings.Contains(ref.Reason, "cannot be told") {
		t.Errorf("%+v", ref)
	}
	s.noticed("openclaw-agent.sqlite", "not a regular file")
	doubt := s.ref("openclaw-agent.sqlite")
	if doubt.Kind != session.KindDatabase || doubt.State != session.StateUnsupported || doubt.Path != path || !strings.Contains(doubt.Reason, "cannot be told") {
		t.Errorf("%+v", doubt)
	}
}

func TestSampleDatabases(t *testing.T) {
	s := newState(t)
	copied(t, shared(t, "openclaw/derived-sqlite-2026.8"), s.root)
	before := s.tree()
	kinds := map[session.Kind]int{}
	for _, ref := range s.list().Refs {
		kinds[ref.Kind]++
		if wanted := ref.Kind == session.KindStored && ref.ID == "11111111-1111-4111-8111-111111110022"; ref.Primary != wanted {
			t.Errorf("%+v", ref)
		}
		if ref.Kind == session.KindOrphan && ref.State != session.StateUnsupported {
			t.Errorf("a leftover: %+v", ref)
		}
	}
	if diff := cmp.Diff(map[session.Kind]int{session.KindStored: 2, session.KindOrphan: 3, session.KindBackup: 1}, kinds); diff != "" {
		t.Error(diff)
	}
	wantTree(t, before, s.tree())

	auth := newState(t)
	copied(t, shared(t, "openclaw/derived-sqlite-2026.6-authonly"), auth.root)
	auth.write(filepath.Join(auth.root, "agents", "main", "sessions", "a.jsonl"), transcript("a"))
	auth.write(filepath.Join(auth.root, "agents", "main", "sessions", "sessions.json"), `{"agent:main:main":{"sessionId":"a"}}`)
	if refs := auth.list().Refs; len(refs) != 1 || !refs[0].Primary || refs[0].State != session.StateIdle {
		t.Errorf("%+v", refs)
	}
	if !bytes.Contains(database(), []byte("transcript_events")) {
		t.Error("the test's own database has no table")
	}
}
