package openclaw_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

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
			old.ID, old.Key, old.Reason = fakeagentdb.Earlier, fakeagentdb.MainKey, session.ReasonEarlier
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
		for _, err := range []error{rotation, overlay, reset, place, s.Busy(ctx, ref, time.Now(), 0)} {
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
	s.noticed("openclaw-agent.sqlite", "not one that is safe")
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
