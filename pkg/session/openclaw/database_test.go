package openclaw_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
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
		doubt   bool // it may be there, on a damaged page
	}{
		"in the schema":           {db: database(), found: true},
		"quoted":                  {db: page(1, 0x0d, `CREATE TABLE "transcript_events" (`), found: true},
		"only in the log":         {db: page(1, 0x0d, "CREATE TABLE schema_meta ("), wal: append(make([]byte, 56+4096-64), createEvents...), found: true},
		"across two reads":        {db: page(1, 0x0d, ""), wal: append(make([]byte, 256<<10-20), createEvents...), found: true},
		"far away, left child":    {db: far(600, 2, createEvents), found: true},
		"far away, right child":   {db: far(3, 600, createEvents), found: true},
		"far away, no page of it": {db: far(3, 4, createEvents), doubt: true},
		"in the log, perhaps":     {db: far(3, 4, createEvents), wal: make([]byte, 4096)},
		"first page damaged":      {db: append(bytes.Repeat([]byte{0xa5}, 4096), database()...), doubt: true},
		"damaged beside a log":    {db: append(inner(2, 3), bytes.Repeat([]byte{0xa5}, 2*4096)...), wal: make([]byte, 4096), doubt: true},
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
			if c.doubt {
				if len(refs) != 2 || refs[0].Path != path || refs[1].State != session.StateUnsupported {
					t.Errorf("%+v", refs)
				}
			} else if c.found {
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
	copied(t, samples.Beside(t, "samples/openclaw/derived-sqlite-2026.8"), s.root)
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
	copied(t, samples.Beside(t, "samples/openclaw/derived-sqlite-2026.6-authonly"), auth.root)
	auth.write(filepath.Join(auth.root, "agents", "main", "sessions", "a.jsonl"), transcript("a"))
	auth.write(filepath.Join(auth.root, "agents", "main", "sessions", "sessions.json"), `{"agent:main:main":{"sessionId":"a"}}`)
	if refs := auth.list().Refs; len(refs) != 1 || !refs[0].Primary || refs[0].State != session.StateIdle {
		t.Errorf("%+v", refs)
	}
	if !bytes.Contains(database(), []byte("transcript_events")) {
		t.Error("the test's own database has no table")
	}
}

// newStored is a state whose sessions are in a database, two hours old.
func newStored(t *testing.T, c fakeagentdb.Content) *state {
	t.Helper()
	s := newState(t)
	path := s.databasePath()
	if err := fakeagentdb.Write(path, c); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		s.age(file, 2*time.Hour)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *state) databasePath() string {
	return filepath.Join(s.root, "agents", agent, "agent", "openclaw-agent.sqlite")
}

func (s *state) stored(id string) session.Ref {
	s.t.Helper()
	for _, ref := range s.list().Refs {
		if ref.ID == id && ref.Kind == session.KindStored {
			return ref
		}
	}
	s.t.Fatalf("session %s is not listed", id)
	return session.Ref{}
}

func (s *state) openLog(ref session.Ref) string {
	s.t.Helper()
	log, err := s.OpenLog(s.t.Context(), ref)
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := io.ReadAll(log)
	if err := errors.Join(err, log.Close()); err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func TestStoredSessions(t *testing.T) {
	for name, live := range map[string]bool{"stopped": false, "live": true} {
		t.Run(name, func(t *testing.T) {
			s := newStored(t, fakeagentdb.Story(live))
			before := s.tree()
			refs := s.list().Refs
			base := session.Ref{
				Runtime: session.RuntimeOpenClaw, Agent: agent, Store: s.root, Kind: session.KindStored,
				Model: "mock-large", State: session.StateIdle,
			}
			current, old, group := base, base, base
			current.ID, current.Key, current.Primary = fakeagentdb.Current, fakeagentdb.MainKey, true
			current.ContextWindow, current.Counter = 200_000, session.Counter{Tokens: 712, Fresh: true}
			old.ID, old.Key, old.Reason = fakeagentdb.Earlier, fakeagentdb.MainKey, session.ReasonEarlier.Text()
			group.ID, group.Key = fakeagentdb.Group, "agent:coordinator:telegram:group:42"
			want := []session.Ref{current, old, group}
			for i := range want {
				want[i].Path = s.databasePath() + "#" + want[i].ID
				want[i].Bytes, want[i].ModTime = int64(len(s.openLog(refs[i]))), refs[i].ModTime
			}
			if diff := cmp.Diff(want, refs); diff != "" {
				t.Error(diff)
			}
			if at := refs[0].ModTime; !at.Equal(time.Date(2026, 9, 2, 8, 0, 7, 0, time.UTC)) {
				t.Error(at)
			}
			wantTree(t, before, s.tree())
		})
	}
}

// A link that is put in the place of the store, or of a directory in it, after
// the first look does not lead to another database.
func TestStoredLogIsReadFromTheStoreThatIsHeldOpen(t *testing.T) {
	for name, live := range map[string]bool{"in place": false, "copied": true} {
		t.Run(name, func(t *testing.T) {
			s := newStored(t, fakeagentdb.Story(live))
			want := strings.Join(fakeagentdb.Lines(), "\n") + "\n"
			ref := s.stored(fakeagentdb.Current)
			planted := fakeagentdb.Story(live)
			planted.Rows = planted.Rows[:len(planted.Rows)-1]
			other := newStored(t, planted) // of somebody else, with the same session
			if err := errors.Join(os.Rename(s.root, s.root+".aside"), os.Symlink(other.root, s.root)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if diff := cmp.Diff(want, s.openLog(ref)); diff != "" {
					t.Error(diff)
				}
				s.list() // the database is looked at anew
			}
		})
	}
}

// The log of a session is what a file of the file era would be: the readers of
// records need not know better. After the reset nothing before counts.
func TestStoredLog(t *testing.T) {
	s := newStored(t, fakeagentdb.Story(true))
	ref := s.stored(fakeagentdb.Current)
	want := strings.Join(fakeagentdb.Lines(), "\n") + "\n"
	for range 2 {
		if diff := cmp.Diff(want, s.openLog(ref)); diff != "" {
			t.Fatal(diff)
		}
	}
	tail, err := s.Tail(t.Context(), ref)
	if err != nil || tail.Tokens != 712 || tail.TokenSource != session.TokensFromUsage || tail.Messages != 6 || !tail.Answered {
		t.Errorf("%+v, %v", tail, err)
	}
	if n, err := s.CountMessages(t.Context(), ref); n != 6 || err != nil {
		t.Error(n, err)
	}
	var ids []string
	scan, err := s.Scan(t.Context(), strings.NewReader(want), session.ScanOptions{}, func(m *session.Message) error {
		ids = append(ids, string(m.ID))
		return nil
	})
	if err != nil || scan.Version != 4 || scan.SessionID != fakeagentdb.Current || scan.Messages != 6 || len(scan.Unknown) > 0 || scan.Tree.Forked() {
		t.Errorf("%+v, %v", scan, err)
	}
	if ids[0] != "0c5de1f2-0000-4000-8000-000000000001" {
		t.Error(ids)
	}
}

// A session in a database is never changed, and the way to make it small is the
// gateway's.
func TestStoredSessionsAreNotChanged(t *testing.T) {
	s := newStored(t, fakeagentdb.Story(false))
	ctx := context.Background()
	for _, id := range []string{fakeagentdb.Current, fakeagentdb.Earlier} {
		ref := s.stored(id)
		_, rotation := s.PlanRotation(ctx, ref, session.Snapshot{}, time.Now())
		_, overlay := s.PlanOverlay(ctx, session.ShortenRequest{Ref: ref})
		_, reset := s.PlanReset(ctx, ref, session.Snapshot{}, time.Now())
		_, place := s.Place(ctx, ref.Path, time.Now())
		for _, err := range []error{rotation, overlay, reset, place, s.Busy(ctx, session.BusyQuestion{Ref: ref, Now: time.Now()})} {
			if !errors.Is(err, session.ErrUnsupported) {
				t.Error(err)
			}
		}
	}
	const command = `openclaw gateway call sessions.reset --params '{"key":"agent:coordinator:main"}'`
	if got := s.OwnCommand(s.stored(fakeagentdb.Current)); got != command {
		t.Error(got)
	}
	if got := s.OwnCommand(s.stored(fakeagentdb.Earlier)); got != "" {
		t.Error("advice that would reset another session:", got)
	}
	odd := session.Ref{Kind: session.KindStored, Key: `agent:a:it's "me"`}
	if got, want := s.OwnCommand(odd), `openclaw gateway call sessions.reset --params '{"key":"agent:a:it'\''s \"me\""}'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestStoredReferencesOfOthers(t *testing.T) {
	s := newStored(t, fakeagentdb.Story(false))
	ref := s.stored(fakeagentdb.Current)
	for name, change := range map[string]func(*session.Ref){
		"another database": func(r *session.Ref) { r.Path = strings.Replace(r.Path, agent, "else", 1) },
		"another agent":    func(r *session.Ref) { r.Agent = "../coordinator" },
		"no session":       func(r *session.Ref) { r.Path = s.databasePath() },
		"a file":           func(r *session.Ref) { r.Kind = session.KindLive },
	} {
		other := ref
		change(&other)
		if _, err := s.OpenLog(t.Context(), other); err == nil {
			t.Error(name)
		}
	}
	gone := ref
	gone.Path += "x"
	if _, err := s.OpenLog(t.Context(), gone); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// What is not read is said.
func TestWhatADatabaseHasBesides(t *testing.T) {
	c := fakeagentdb.Story(false)
	c.Cold = []string{"frozen"}
	c.Deleted = []string{"both", "gone", "../evil"}
	for i := range 12 {
		c.Deleted = append(c.Deleted, fmt.Sprintf("old-%02d", i))
	}
	c.Rows = append(c.Rows, fakeagentdb.Row{Session: "../evil", JSON: "{}"})
	s := newStored(t, c)
	s.log("both"+fakeagentdb.DeletedEnd, "this one is a file too, and listed")
	if refs := s.list().Refs; len(refs) != 4 {
		t.Errorf("%+v", refs)
	}
	s.noticed("openclaw-agent.sqlite", "7 records are in the runtime's cold storage and are not read, of sessions: frozen (frozen.cold)")
	s.noticed("openclaw-agent.sqlite", "not read: ../evil, gone, old-00, old-01, old-02, old-03, old-04, old-05, old-06, old-07 and 4 more")
	s.noticed("openclaw-agent.sqlite", "not safe in a path")
}

func TestMainKeyOfTheDatabase(t *testing.T) {
	c := fakeagentdb.Story(false)
	c.Main = "Desk"
	c.Nodes[1].Key = "agent:coordinator:desk"
	s := newStored(t, c)
	if s.stored(fakeagentdb.Current).Primary || !s.stored(fakeagentdb.Group).Primary {
		t.Errorf("%+v", s.list().Refs)
	}
}

func TestStoredSessionIsBusyAtFirst(t *testing.T) {
	c := fakeagentdb.Story(false)
	c.Rows[len(c.Rows)-1].At = time.Now().UnixMilli()
	if ref := newStored(t, c).stored(fakeagentdb.Current); ref.State != session.StateBusy || ref.Reason == "" {
		t.Errorf("%+v", ref)
	}
}

// A schema of tomorrow is refused with its number; one reference stands for
// all that is in it.
func TestDatabaseOfALaterSchema(t *testing.T) {
	c := fakeagentdb.Story(false)
	c.Version = 24
	s := newStored(t, c)
	before := s.tree()
	refs := s.list().Refs
	if len(refs) != 1 || refs[0].Kind != session.KindDatabase || refs[0].State != session.StateUnsupported || !strings.Contains(refs[0].Reason, "version 24") {
		t.Errorf("%+v", refs)
	}
	s.noticed("openclaw-agent.sqlite", "version 24")
	wantTree(t, before, s.tree())
	if _, err := s.OpenLog(t.Context(), refs[0]); err == nil {
		t.Error("its log was opened")
	}
}

// One row that cannot be read is an error of its session, which names it; the
// others are read.
func TestDamagedRowOfASession(t *testing.T) {
	c := fakeagentdb.Story(false)
	for i := range c.Rows {
		if c.Rows[i].Packed != nil {
			c.Rows[i].Length--
		}
	}
	s := newStored(t, c)
	log, err := s.OpenLog(t.Context(), s.stored(fakeagentdb.Current))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := io.ReadAll(log); err == nil || !strings.Contains(err.Error(), "row 3 of session "+fakeagentdb.Current) {
		t.Error(err)
	}
	if s.openLog(s.stored(fakeagentdb.Group)) == "" {
		t.Error("the other session is not read")
	}
}

var _ session.LogSource = (*openclaw.Store)(nil)
