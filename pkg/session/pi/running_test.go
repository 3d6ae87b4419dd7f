package pi_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// A pi has its session in its memory for as long as it runs. One that runs where
// a session belongs, and may have it, makes it busy.
func TestBusyWhilePiRuns(t *testing.T) {
	const older = "2026-02-01T10-00-00-000Z_older.jsonl"
	now := time.Now()
	here := func(s *state) pi.Running {
		return pi.Running{Dir: "/repo/orders-api", Started: now.Add(-time.Hour), Sessions: s.root}
	}
	for what, c := range map[string]struct {
		change func(s *state, r *pi.Running)
		log    string
		busy   bool
	}{
		"it may have begun with -c":                       {nil, name, true},
		"what it does not continue":                       {nil, older, false},
		"written since it was started":                    {func(s *state, r *pi.Running) { r.Started = now.Add(-4 * time.Hour) }, older, true},
		"in another directory":                            {func(s *state, r *pi.Running) { r.Dir = "/repo/other" }, name, false},
		"in the directory that the log names":             {func(s *state, r *pi.Running) { r.Dir = "/repo/orders/api" }, name, true},
		"with sessions elsewhere":                         {func(s *state, r *pi.Running) { r.Sessions = s.t.TempDir() }, name, false},
		"with sessions that lie in one directory":         {func(s *state, r *pi.Running) { r.Flat = true }, name, false},
		"with sessions through another path to the place": {func(s *state, r *pi.Running) { r.Sessions = filepath.Join(s.root, "..", filepath.Base(s.root), ".") }, name, true},
	} {
		t.Run(what, func(t *testing.T) {
			s := newOne(t)
			s.log(older, transcript("older", 3))
			s.age(s.path(older), 3*time.Hour)
			r := here(s)
			if c.change != nil {
				c.change(s, &r)
			}
			s.LetRun(r)
			ref := s.ref(c.log)
			err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: now, Quiet: quiet})
			if !c.busy {
				if err != nil || ref.State != session.StateIdle {
					t.Errorf("%v; it is %s", err, ref.State)
				}
				return
			}
			wantBusy(t, err, "pi is running in "+r.Dir+" (process 1)")
			if ref.State != session.StateBusy || !strings.Contains(ref.Reason, "process 1") {
				t.Errorf("it is listed as %s: %s", ref.State, ref.Reason)
			}
			s.LetRun()
			if err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: now, Quiet: quiet}); err != nil {
				t.Errorf("after it has ended: %v", err)
			}
		})
	}
}

// Where pi was given a directory for its logs alone, only the log itself says
// where it belongs.
func TestBusyInOneDirectory(t *testing.T) {
	s := newState(t)
	path := filepath.Join(s.root, name)
	s.write(path, transcript(id, 3))
	for dir, busy := range map[string]bool{"/repo/orders/api": true, "/repo/other": false} {
		s.LetRun(pi.Running{Dir: dir, Started: time.Now().Add(-time.Hour), Sessions: s.root, Flat: true})
		if ref := s.ref(name); (ref.State == session.StateBusy) != busy {
			t.Errorf("pi in %s: %s", dir, ref.State)
		}
	}
}

// A log that is to be replaced is busy too while a pi may have it.
func TestUnusedWhilePiRuns(t *testing.T) {
	s := newOne(t)
	s.LetRun(pi.Running{Dir: "/repo/orders-api", Started: time.Now().Add(-time.Hour), Sessions: s.root})
	wantBusy(t, s.Unused(context.Background(), s.path(name), time.Now(), quiet), "pi is running")
	if err := s.Unused(context.Background(), s.path("none.jsonl"), time.Now(), quiet); err != nil {
		t.Error(err)
	}
}
