package pi_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

func TestBusy(t *testing.T) {
	for what, c := range map[string]struct {
		change func(s *state)
		reason string
	}{
		"quiet and answered": {func(*state) {}, ""},
		"just changed":       {func(s *state) { s.age(s.path(name), 5*time.Second) }, "changed 5s ago"},
		"question":           {func(s *state) { s.log(name, transcript(id, 3)+question) }, "last turn is not answered"},
		"torn line":          {func(s *state) { s.log(name, transcript(id, 3)+question[:40]) }, "last line is not finished"},
		"empty":              {func(s *state) { s.log(name, "") }, "being rewritten"},
		"shorter":            {func(s *state) { s.log(name, transcript(id, 3)[:200]) }, "being rewritten"},
		"gone":               {func(s *state) { os.Remove(s.path(name)) }, "moved or removed"},
		"directory gone":     {func(s *state) { os.RemoveAll(filepath.Dir(s.path(name))) }, "moved or removed"},
	} {
		t.Run(what, func(t *testing.T) {
			s := newOne(t)
			ref := s.ref(name)
			c.change(s)
			err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: quiet})
			if c.reason != "" {
				wantBusy(t, err, c.reason)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// wantRotated checks the state of newOne after a rotation.
func (s *state) wantRotated(r session.Rotation) {
	s.t.Helper()
	kept := directory + "/" + filepath.Base(r.Kept)
	wantTree(s.t, map[string]string{kept: transcript(id, 3), directory + "/" + name: r.Fresh}, s.tree())
}

func TestRotate(t *testing.T) {
	s := newOne(t)
	ref := s.ref(name)
	inode, err := os.Lstat(ref.Path)
	if err != nil {
		t.Fatal(err)
	}
	before := s.tree()
	text, err := json.Marshal(s.plan(ref))
	if err != nil {
		t.Fatal(err)
	}
	wantTree(t, before, s.tree())
	var r session.Rotation
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Index != "" || r.Live != ref.Path || r.Session != id || r.Agent != "repo-orders-api" || r.Store != s.root {
		t.Errorf("%+v", r)
	}
	h, ok, err := piformat.ReadHeader(strings.NewReader(r.Fresh))
	if err != nil || !ok || h.ID != r.NewSession || h.ID == id || h.CWD != "/repo/orders/api" || h.Version != 3 || !h.Time.Equal(r.At) || strings.Count(r.Fresh, "\n") != 1 {
		t.Errorf("the fresh log is %q: %+v, %v", r.Fresh, h, err)
	}
	s.mustRotate(r)
	s.wantRotated(r)
	if kept, err := os.Lstat(r.Kept); err != nil || !os.SameFile(inode, kept) {
		t.Error("the log's inode was not kept:", err)
	}
	s.mustRotate(r)
	s.wantRotated(r)
	refs := s.list().Refs
	if len(refs) != 2 || refs[1].Kind != session.KindReset || refs[1].Primary || refs[0].ID != r.NewSession || !refs[0].Primary {
		t.Errorf("%+v", refs)
	}
	if !refs[0].ModTime.Equal(ref.ModTime) {
		t.Errorf("the fresh log was changed at %s, want the time of the old one, %s", refs[0].ModTime, ref.ModTime)
	}
	if err := s.Busy(context.Background(), session.BusyQuestion{Ref: refs[0], Now: time.Now(), Quiet: quiet}); err != nil {
		t.Errorf("the fresh session is busy: %v", err)
	}
}

// `pi -c` continues the log that was written last: the fresh session is that
// one, and not the session before. One that pi would not continue leaves none.
func TestRotateBesideAnOlderSession(t *testing.T) {
	const older = "2026-02-01T10-00-00-000Z_older.jsonl"
	s := newOne(t)
	s.log(older, transcript("older", 3))
	s.age(s.path(older), 3*time.Hour)
	r := s.plan(s.ref(name))
	s.mustRotate(r)
	for _, ref := range s.list().Refs {
		if ref.Primary != (ref.ID == r.NewSession) {
			t.Errorf("%+v", ref)
		}
	}
	old := s.plan(s.ref(older))
	s.mustRotate(old)
	if _, err := os.Lstat(s.path(older)); !os.IsNotExist(err) || old.Fresh != "" || !s.ref(name).Primary {
		t.Errorf("%v, %+v", err, old)
	}
}

var errKilled = errors.New("killed")

// Stopped after any step, the rotation is finished by doing it again.
func TestRotateStoppedAnywhere(t *testing.T) {
	for _, step := range []string{"lease", "check", "stage", "exchange"} {
		s := newOne(t)
		r := s.plan(s.ref(name))
		s.SetStep(func(name string) error {
			if name == step {
				return errKilled
			}
			return nil
		})
		if err := s.rotate(r); !errors.Is(err, errKilled) {
			t.Fatal("the step was not reached:", err)
		}
		s.SetStep(func(string) error { return nil })
		s.mustRotate(r)
		s.wantRotated(r)
	}
}

// A move that died between its two halves is taken back: the link has touched
// the log, and the next plan rotates it.
func TestRotateFinishesHalfAMove(t *testing.T) {
	s := newOne(t)
	r := s.plan(s.ref(name))
	before := s.tree()
	if err := os.Link(r.Live, r.Kept); err != nil {
		t.Skip("no hard links:", err)
	}
	wantBusy(t, s.rotate(r), "touched")
	wantTree(t, before, s.tree())
	r = s.plan(s.ref(name))
	s.mustRotate(r)
	s.wantRotated(r)
}

// A pi that has the session in its memory goes on at the same place: what it
// writes there has a header before it, and a pi that is started sees it.
func TestRotateWhilePiGoesOn(t *testing.T) {
	s := newOne(t)
	r := s.plan(s.ref(name))
	s.mustRotate(r)
	s.log(name, r.Fresh+question)
	after := s.tree()
	s.mustRotate(r)
	wantTree(t, after, s.tree())
	if ref := s.ref(name); ref.Kind != session.KindLive || !ref.Primary || ref.ID != r.NewSession {
		t.Errorf("%+v", ref)
	}
}

// A log that was made again without a header is a file of its own.
func TestRotateLeavesALogThatWasMadeAgain(t *testing.T) {
	s := newOne(t)
	r := s.plan(s.ref(name))
	r.Fresh = "" // as the versions before this one planned it
	s.mustRotate(r)
	s.log(name, question)
	after := s.tree()
	s.mustRotate(r)
	wantTree(t, after, s.tree())
	if ref := s.ref(name); ref.Kind != session.KindOrphan || ref.Primary {
		t.Errorf("%+v", ref)
	}
	s.noticed(name, "no session header")
}

// Whatever happens to the log after the snapshot, the session is busy and
// nothing is changed.
func TestRotateRefusesChanges(t *testing.T) {
	for what, c := range map[string]struct {
		change func(s *state, r session.Rotation)
		reason string
	}{
		"line appended":      {func(s *state, r session.Rotation) { s.log(name, transcript(id, 3)+question) }, "bytes were added"},
		"emptied":            {func(s *state, r session.Rotation) { s.log(name, "") }, "shorter"},
		"rewritten in place": {func(s *state, r session.Rotation) { s.log(name, transcript(id, 3)) }, "touched or rewritten"},
		"touched":            {func(s *state, r session.Rotation) { s.age(r.Live, time.Hour) }, "touched or rewritten"},
		"gone":               {func(s *state, r session.Rotation) { os.Remove(r.Live) }, "moved or removed"},
		"linked":             {func(s *state, r session.Rotation) { os.Link(r.Live, s.path("second.txt")) }, ""},
		"name taken":         {func(s *state, r session.Rotation) { s.write(r.Kept, "another") }, "another file is at"},
		"replaced": {func(s *state, r session.Rotation) {
			s.log("new", transcript(id, 3))
			os.Rename(s.path("new"), r.Live)
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			s := newOne(t)
			r := s.plan(s.ref(name))
			c.change(s, r)
			before := s.tree()
			wantBusy(t, s.rotate(r), c.reason)
			wantTree(t, before, s.tree())
		})
	}
}

// A log that takes the place of the one to rotate in the last instant is put
// back.
func TestRotatePutsAnotherLogBack(t *testing.T) {
	s := newOne(t)
	r := s.plan(s.ref(name))
	s.SetStep(func(step string) error {
		if step == "check" {
			s.log("new", "another\n")
			return os.Rename(s.path("new"), r.Live)
		}
		return nil
	})
	wantBusy(t, s.rotate(r), "another file has taken its place")
	wantTree(t, map[string]string{directory + "/" + name: "another\n"}, s.tree())
}

func TestPlanRefuses(t *testing.T) {
	s := newOne(t)
	s.log("new.jsonl", transcript("new", 4))
	s.log("old.jsonl.rotated.2026-03-01T10-00-00.000Z", transcript("old", 3))
	for _, file := range []string{"new.jsonl", "old.jsonl.rotated.2026-03-01T10-00-00.000Z"} {
		_, err := s.PlanRotation(context.Background(), s.ref(file), session.Snapshot{}, time.Now())
		if !errors.Is(err, session.ErrUnsupported) {
			t.Errorf("%s: %v", file, err)
		}
	}
	ref := s.ref(name)
	for _, path := range []string{"/etc/passwd", s.root + "/../x.jsonl", s.root + "/a/b/c.jsonl", s.root, ""} {
		ref.Path = path
		if _, err := s.PlanRotation(context.Background(), ref, session.Snapshot{}, time.Now()); err == nil {
			t.Errorf("PlanRotation of %q", path)
		}
		if err := s.Busy(context.Background(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: quiet}); err == nil {
			t.Errorf("Busy of %q", path)
		}
	}
}

func TestRotateRefusesOddPlans(t *testing.T) {
	for what, change := range map[string]func(s *state, r *session.Rotation){
		"kept elsewhere":  func(s *state, r *session.Rotation) { r.Kept = filepath.Join(s.root, filepath.Base(r.Kept)) },
		"kept as a log":   func(s *state, r *session.Rotation) { r.Kept = s.path("b.jsonl") },
		"kept of another": func(s *state, r *session.Rotation) { r.Kept = s.path("b.jsonl.rotated.2026-03-01T10-00-00.000Z") },
		"live elsewhere":  func(s *state, r *session.Rotation) { r.Live = "/etc/passwd" },
		"live is kept":    func(s *state, r *session.Rotation) { r.Live = r.Kept },
	} {
		t.Run(what, func(t *testing.T) {
			s := newOne(t)
			r := s.plan(s.ref(name))
			before := s.tree()
			change(s, &r)
			if err := s.rotate(r); err == nil || errors.Is(err, session.ErrBusy) {
				t.Errorf("Rotate: %v", err)
			}
			if err := s.Dispose(context.Background(), r); err == nil {
				t.Error("Dispose agreed")
			}
			wantTree(t, before, s.tree())
		})
	}
}

// Only the rotated inode goes, and only as it was or grown (its additions are
// archived by then).
func TestDispose(t *testing.T) {
	for what, c := range map[string]struct {
		change func(s *state, r session.Rotation)
		gone   bool
	}{
		"as it was":       {func(s *state, r session.Rotation) {}, true},
		"grown":           {func(s *state, r session.Rotation) { appendTo(s, r.Kept, question) }, true},
		"shorter":         {func(s *state, r session.Rotation) { os.Truncate(r.Kept, 10) }, false},
		"other same size": {func(s *state, r session.Rotation) { overwrite(s, r.Kept) }, false},
		"another file": {func(s *state, r session.Rotation) {
			s.log("new", transcript(id, 3))
			os.Chtimes(s.path("new"), r.Snapshot.ModTime, r.Snapshot.ModTime)
			os.Rename(s.path("new"), r.Kept)
		}, false},
		"linked":       {func(s *state, r session.Rotation) { os.Link(r.Kept, s.path("second.txt")) }, false},
		"gone already": {func(s *state, r session.Rotation) { os.Remove(r.Kept) }, true},
		"live again":   {func(s *state, r session.Rotation) { s.log(name, question) }, true},
	} {
		t.Run(what, func(t *testing.T) {
			s := newOne(t)
			r := s.plan(s.ref(name))
			s.mustRotate(r)
			c.change(s, r)
			if err := s.Dispose(context.Background(), r); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(r.Kept); os.IsNotExist(err) != c.gone {
				t.Errorf("the kept log: %v", err)
			}
			if what == "live again" && s.ref(name).Bytes != int64(len(question)) {
				t.Error("the log that was made again is gone")
			}
		})
	}
}

// Before the move there is nothing to dispose of.
func TestDisposeBeforeTheMove(t *testing.T) {
	s := newOne(t)
	r := s.plan(s.ref(name))
	before := s.tree()
	if err := s.Dispose(context.Background(), r); err != nil {
		t.Error(err)
	}
	wantTree(t, before, s.tree())
}

func appendTo(s *state, path, text string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// overwrite changes a byte without changing the size.
func overwrite(s *state, path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("X"), 20); err != nil {
		s.t.Fatal(err)
	}
}
