package openclaw_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

var errKilled = errors.New("killed")

// killAfter stops a rotation after a step.
func (s *state) killAfter(step string) {
	s.SetStep(func(name string) error {
		if name == step {
			return errKilled
		}
		return nil
	})
}

func (s *state) alive() { s.SetStep(func(string) error { return nil }) }

// wantRotated checks the end state of a rotation of newMain's session.
func (s *state) wantRotated(r session.Rotation) {
	s.t.Helper()
	if got := s.read(filepath.Base(r.Kept)); got != transcript(mainID) {
		s.t.Errorf("the kept log is %q", got)
	}
	if _, err := os.Lstat(r.Live); !os.IsNotExist(err) {
		s.t.Errorf("the log is still there: %v", err)
	}
	s.wantSwitched(r)
	if got := len(s.tree()); got != 2 {
		s.t.Errorf("%d files: %v", got, s.tree())
	}
}

func (s *state) wantSwitched(r session.Rotation) {
	s.t.Helper()
	entries := s.entries()
	if entries[mainKey]["sessionId"] != `"`+r.NewSession+`"` || entries[mainKey]["label"] != `"desk"` {
		s.t.Errorf("%v", entries[mainKey])
	}
	if !strings.Contains(s.read("sessions.json"), `"agent:coordinator:cron:daily": { "sessionId":"other" }`) {
		s.t.Error("another entry was changed")
	}
}

// Stopped after any step, the rotation is finished by doing it again, and a
// third time changes nothing.
func TestRotateStoppedAnywhere(t *testing.T) {
	for _, step := range []string{"lease", "check", "index", "move"} {
		t.Run(step, func(t *testing.T) {
			s := newMain(t)
			r := s.plan(s.ref(mainID + ".jsonl"))
			s.killAfter(step)
			if err := s.rotate(r); !errors.Is(err, errKilled) {
				t.Fatal("the step was not reached:", err)
			}
			live, liveErr := os.ReadFile(r.Live)
			kept, keptErr := os.ReadFile(r.Kept)
			if (liveErr == nil) == (keptErr == nil) || string(live)+string(kept) != transcript(mainID) {
				t.Fatalf("the log is at neither or both places: %v, %v", liveErr, keptErr)
			}
			s.entries() // the index can be read
			s.alive()
			s.mustRotate(r)
			s.wantRotated(r)
			after := s.tree()
			s.mustRotate(r)
			wantTree(t, after, s.tree())
		})
	}
}

// The runtime may go on between the steps of a rotation that died: the fresh
// session has a log and a changed entry by the time it is finished.
func TestRotateFinishedAfterTheRuntimeWentOn(t *testing.T) {
	for _, step := range []string{"index", "move"} {
		s := newMain(t)
		r := s.plan(s.ref(mainID + ".jsonl"))
		s.killAfter(step)
		if err := s.rotate(r); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		s.alive()
		s.log(r.NewSession+".jsonl", transcript(r.NewSession))
		s.index(`{"agent:coordinator:main":{"sessionId":"` + r.NewSession + `","updatedAt":9,"totalTokens":5}}`)
		index := s.read("sessions.json")
		s.mustRotate(r)
		if s.read("sessions.json") != index || s.read(r.NewSession+".jsonl") != transcript(r.NewSession) || s.read(filepath.Base(r.Kept)) != transcript(mainID) {
			t.Errorf("%s: %v", step, s.tree())
		}
	}
}

// Once the index is switched, a log that grew is moved all the same: its inode
// keeps what was added.
func TestRotateFinishedWithLateLines(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	s.killAfter("index")
	if err := s.rotate(r); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	s.alive()
	s.log(mainID+".jsonl", transcript(mainID)+question)
	s.mustRotate(r)
	if got := s.read(filepath.Base(r.Kept)); got != transcript(mainID)+question {
		t.Errorf("kept %q", got)
	}
}

// A late writer that makes the moved log again has a file of its own.
func TestRotateLeavesALogThatWasMadeAgain(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	s.mustRotate(r)
	s.log(mainID+".jsonl", question)
	after := s.tree()
	s.mustRotate(r)
	wantTree(t, after, s.tree())
	if ref := s.ref(mainID + ".jsonl"); ref.Kind != session.KindOrphan {
		t.Errorf("%+v", ref)
	}
}

// A move that died between its two halves (where a file system can only link
// and unlink) is finished.
func TestRotateFinishesHalfAMove(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	s.killAfter("index")
	if err := s.rotate(r); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	s.alive()
	if err := os.Link(r.Live, r.Kept); err != nil {
		t.Skip("no hard links:", err)
	}
	s.mustRotate(r)
	s.wantRotated(r)
}

// Both names are gone: somebody has taken the log away.
func TestRotateOfALogThatIsGone(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	index := s.read("sessions.json")
	if err := os.Remove(r.Live); err != nil {
		t.Fatal(err)
	}
	wantBusy(t, s.rotate(r), "moved or removed")
	if s.read("sessions.json") != index {
		t.Error("the index was changed")
	}
}

// A store that has moved on to a database since: what is done stays done, what
// is not is left.
func TestRotateAfterMigration(t *testing.T) {
	for _, step := range []string{"check", "index", "move"} {
		s := newMain(t)
		r := s.plan(s.ref(mainID + ".jsonl"))
		s.killAfter(step)
		if err := s.rotate(r); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		s.alive()
		s.write(filepath.Join(s.root, "agents", agent, "agent", "openclaw-agent.sqlite"), string(database()))
		before := s.tree()
		err := s.rotate(r)
		if step == "move" && err != nil {
			t.Error(err)
		}
		if step != "move" {
			wantBusy(t, err, "a leftover of the migration")
		}
		wantTree(t, before, s.tree())
	}
}
