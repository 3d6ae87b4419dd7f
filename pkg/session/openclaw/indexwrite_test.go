package openclaw_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// added is the key of the nth session that somebody else begins.
func added(n int) string { return fmt.Sprintf("agent:coordinator:telegram:group:%d", n) }

// begins adds an entry to the index as a runtime does that takes no lock: it
// writes what it reads, with one entry more, and renames it.
func (s *state) begins(n int) {
	s.t.Helper()
	index := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(s.read("sessions.json")), &index); err != nil {
		s.t.Fatal(err)
	}
	s.writesIndex(index, n)
}

// writesIndex is begins for a runtime that has read the index before.
func (s *state) writesIndex(index map[string]json.RawMessage, n int) {
	s.t.Helper()
	index[added(n)] = json.RawMessage(fmt.Sprintf(`{"sessionId": "s%d", "updatedAt": %d}`, n, time.Now().UnixMilli()))
	text, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		s.t.Fatal(err)
	}
	temp := s.path("sessions.json.77.tmp")
	if err := errors.Join(os.WriteFile(temp, text, 0o600), os.Rename(temp, s.path("sessions.json"))); err != nil {
		s.t.Fatal(err)
	}
}

// wantEntries checks that the index has every entry that was there or was
// added, and that nothing of a change of it is left.
func (s *state) wantEntries(n int) {
	s.t.Helper()
	entries := s.entries()
	for i := range n {
		if entries[added(i)]["sessionId"] != fmt.Sprintf("%q", fmt.Sprint("s", i)) {
			s.t.Errorf("the entry %s is lost: %s", added(i), s.read("sessions.json"))
		}
	}
	if entries["agent:coordinator:cron:daily"]["sessionId"] != `"other"` || entries[mainKey]["label"] != `"desk"` {
		s.t.Errorf("an entry that was there is lost: %s", s.read("sessions.json"))
	}
	names, err := os.ReadDir(s.path(""))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range names {
		if e.Name() != "sessions.json" && !strings.Contains(e.Name(), ".jsonl") {
			s.t.Errorf("left behind: %s", e.Name())
		}
	}
}

// indexSteps are those around which somebody else may write the index.
func indexSteps(system durable.System) []string {
	if system.NoExchange {
		return []string{"lease", "check", "index", "move"}
	}
	return []string{"lease", "check", "index staged", "index exchanged", "index", "move"}
}

// A runtime that takes no lock may write its index at any moment: no entry is
// lost, whatever becomes of the rotation; nor if the run is killed right then.
func TestRotateBesideAWriterOfTheIndex(t *testing.T) {
	for _, system := range []durable.System{{}, {NoExchange: true}} {
		for _, step := range indexSteps(system) {
			for _, killed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %+v, killed %v", step, system, killed), func(t *testing.T) {
					s := newMainOn(t, system)
					r := s.plan(s.ref(mainID + ".jsonl"))
					n := s.beginsAt(step, killed)
					err := s.rotate(r)
					if *n == 0 {
						t.Fatal("the step was not reached:", err)
					}
					s.alive()
					for try := 0; err != nil && try < 3; try++ {
						if !errors.Is(err, session.ErrBusy) && !errors.Is(err, errKilled) {
							t.Fatal(err)
						}
						err = s.rotate(r)
					}
					if err != nil {
						t.Error("the session is never rotated:", err)
					}
					s.wantEntries(*n)
					s.wantSwitchedTo(r)
				})
			}
		}
	}
}

// What somebody has written right before the exchange is in the file that came
// out of it. A run that is killed then leaves it, and the next one finds its
// entries in it, whatever the runtime has written since.
func TestRotateKilledWithAnIndexInHand(t *testing.T) {
	for _, wentOn := range []bool{false, true} {
		s := newMain(t)
		r := s.plan(s.ref(mainID + ".jsonl"))
		s.SetStep(func(name string) error {
			switch name {
			case "index staged":
				s.begins(0)
			case "index exchanged":
				return errKilled
			}
			return nil
		})
		if err := s.rotate(r); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		s.alive()
		n := 1
		if wentOn {
			n++
			s.begins(1)
		}
		s.mustRotate(r)
		s.wantEntries(n)
		s.wantSwitchedTo(r)
	}
}

// newMainOn is newMain where the system has less.
func newMainOn(t *testing.T, system durable.System) *state {
	t.Helper()
	s := newMain(t)
	s.Store = openclaw.Open(s.root, openclaw.Options{System: system})
	s.SetPause(func() {})
	return s
}

// beginsAt lets somebody begin a session at the first time that a step is
// reached, and perhaps kills the run there.
func (s *state) beginsAt(step string, killed bool) (begun *int) {
	begun = new(int)
	s.SetStep(func(name string) error {
		if name != step || *begun > 0 {
			return nil
		}
		s.begins(*begun)
		*begun++
		if killed {
			return errKilled
		}
		return nil
	})
	return begun
}

// wantSwitchedTo checks that the runtime starts fresh and the log is kept.
func (s *state) wantSwitchedTo(r session.Rotation) {
	s.t.Helper()
	if id := s.entries()[mainKey]["sessionId"]; id != fmt.Sprintf("%q", r.NewSession) {
		s.t.Errorf("the entry names %s, want %s", id, r.NewSession)
	}
	if got := s.read(filepath.Base(r.Kept)); got != transcript(mainID) {
		s.t.Errorf("the kept log is %q", got)
	}
}

// Each time that the index is exchanged somebody else writes it again.
func TestRotateBesideABusyWriterOfTheIndex(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	n := 0
	s.SetStep(func(name string) error {
		if (name == "index staged" || name == "index exchanged") && n < 7 {
			s.begins(n)
			n++
		}
		return nil
	})
	s.mustRotate(r)
	s.alive()
	s.wantEntries(7)
	s.wantSwitchedTo(r)
}

// A runtime that has read the index before the switch and writes it afterwards
// goes on with the old session: the session is busy, or, when the log is moved
// by then, the entry is switched once more. No entry is lost.
func TestRotateBesideAStaleWriterOfTheIndex(t *testing.T) {
	for _, step := range []string{"index staged", "index exchanged", "index", "move"} {
		t.Run(step, func(t *testing.T) {
			s := newMain(t)
			r := s.plan(s.ref(mainID + ".jsonl"))
			read := map[string]json.RawMessage{}
			if err := json.Unmarshal([]byte(s.read("sessions.json")), &read); err != nil {
				t.Fatal(err)
			}
			done := false
			s.SetStep(func(name string) error {
				if name == step && !done {
					done = true
					s.writesIndex(read, 0)
				}
				return nil
			})
			err := s.rotate(r)
			s.wantEntries(1)
			if err != nil {
				wantBusy(t, err, "over the change")
				if s.read(mainID+".jsonl") != transcript(mainID) || s.entries()[mainKey]["sessionId"] != `"`+mainID+`"` {
					t.Error("a busy session was changed")
				}
				return
			}
			s.wantSwitchedTo(r)
		})
	}
}

// While the index is changed its lock is held, as the runtime writes it.
func TestIndexLockIsTaken(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	seen := 0
	s.SetStep(func(name string) error {
		locks, err := s.Locks(context.Background(), time.Now())
		if err != nil || len(locks) != 1 || locks[0].Process != os.Getpid() || !locks[0].Alive || locks[0].Stale {
			t.Errorf("%s: the locks are %+v, %v", name, locks, err)
		}
		var lock map[string]any
		if err := json.Unmarshal([]byte(s.read("sessions.json.lock")), &lock); err != nil || lock["createdAt"] == nil || lock["maxHoldMs"] == nil {
			t.Errorf("%s: %v, %v", name, lock, err)
		}
		seen++
		return nil
	})
	s.mustRotate(r)
	if seen < 5 {
		t.Error("only", seen, "steps")
	}
	s.alive()
	s.wantEntries(0)
}

// The lock goes on every way out: an error, a busy log.
func TestIndexLockIsGivenBack(t *testing.T) {
	for _, step := range []string{"lease", "check", "index staged", "index exchanged", "index", "move"} {
		s := newMain(t)
		r := s.plan(s.ref(mainID + ".jsonl"))
		s.killAfter(step)
		if err := s.rotate(r); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		if _, err := os.Lstat(s.path("sessions.json.lock")); !os.IsNotExist(err) {
			t.Errorf("%s: the lock is still there: %v", step, err)
		}
	}
}

// Whoever holds the lock for a moment is waited for.
func TestIndexLockIsWaitedFor(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	lock := s.path("sessions.json.lock")
	s.write(lock, fmt.Sprintf(`{"pid":%d,"createdAt":%q}`, os.Getppid(), time.Now().UTC().Format(time.RFC3339)))
	waited := 0
	s.SetPause(func() {
		if waited++; waited == 3 {
			s.begins(0)
			if err := os.Remove(lock); err != nil {
				t.Error(err)
			}
		}
	})
	s.mustRotate(r)
	if waited != 3 {
		t.Error("waited", waited, "times")
	}
	s.wantEntries(1)
	s.wantSwitchedTo(r)
}

// A killed run leaves its lock: its process is gone, by which the next one
// knows that it does not count.
func TestIndexLockOfAKilledRun(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	s.log("sessions.json.lock", fmt.Sprintf(`{"pid":%d,"createdAt":%q,"maxHoldMs":30000}`, deadProcess(t), time.Now().UTC().Format(time.RFC3339)))
	s.mustRotate(r)
	s.wantEntries(0)
}

// The way back goes the same way.
func TestUndoBesideAWriterOfTheIndex(t *testing.T) {
	for _, step := range []string{"back", "index staged", "index exchanged", "index back"} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed %v", step, killed), func(t *testing.T) {
				s, r := rotated(t)
				u := s.mustPlanBack(r)
				n := s.beginsAt(step, killed)
				err := s.back(u)
				if *n == 0 {
					t.Fatal("the step was not reached:", err)
				}
				s.alive()
				for try := 0; err != nil && try < 3; try++ {
					if !errors.Is(err, session.ErrBusy) && !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
					err = s.back(u)
				}
				if err != nil {
					t.Error("never undone:", err)
				}
				s.wantEntries(*n)
				s.wantBackWithout(u)
			})
		}
	}
}

// wantBackWithout checks that the old session goes on; the index was written
// anew by somebody else, so its spaces are not compared.
func (s *state) wantBackWithout(u session.Undo) {
	s.t.Helper()
	if e := s.entries()[mainKey]; e["sessionId"] != `"`+mainID+`"` || e["updatedAt"] != fmt.Sprint(u.At.UnixMilli()) {
		s.t.Errorf("%v", e)
	}
	if got := s.read(mainID + ".jsonl"); got != transcript(mainID) {
		s.t.Errorf("the log is %q", got)
	}
}

// TestMerge holds what becomes of an index that two have changed.
func TestMerge(t *testing.T) {
	for name, c := range map[string]struct{ base, theirs, ours, want string }{
		"ours":            {`{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"a":9,"b":2}`, `{"a":9,"b":2}`},
		"both":            {`{"a":1}`, "{\n  \"a\": 1,\n  \"c\": 3\n}\n", `{"a":9}`, "{\n  \"a\": 9,\n  \"c\": 3\n}\n"},
		"the same entry":  {`{"a":1}`, `{"a":7}`, `{"a":9}`, `{"a":7}`},
		"spaces":          {`{"a":{"x":1}}`, `{"a" : { "x": 1 }}`, `{"a":{"x":2}}`, `{"a" : {"x":2}}`},
		"ours added":      {`{}`, `{"b": 2}`, `{"a": 1}`, `{"b": 2, "a": 1}`},
		"added to none":   {`{}`, ` { } `, `{"a":1,"b":2}`, ` {"a": 1, "b": 2 } `},
		"theirs removed":  {`{"a":1,"b":2}`, `{"b":2}`, `{"a":1,"b":9}`, `{"b":9}`},
		"in their style":  {`{"x":0}`, "{\n\t\"x\": 0,\n\t\"y\": 1\n}", `{"x":0,"é<":5}`, "{\n\t\"x\": 0,\n\t\"y\": 1,\n\t\"é\\u003c\": 5\n}"},
		"repeated theirs": {`{"a":1}`, `{"a":0,"a":1}`, `{"a":2}`, `{"a":0,"a":2}`},
	} {
		got, err := openclaw.Merge([]byte(c.base), []byte(c.theirs), []byte(c.ours))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
	for _, broken := range []string{``, `[]`, `{"a":1`, `{"a":1}x`} {
		if got, err := openclaw.Merge([]byte(`{}`), []byte(broken), []byte(`{"a":1}`)); err == nil {
			t.Errorf("%q became %s", broken, got)
		}
	}
}

// An index that came out of the exchange and cannot be read is somebody's who
// is writing it: it goes back.
func TestRotateGivesAnUnreadableIndexBack(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	s.SetStep(func(name string) error {
		if name == "index staged" {
			s.index(`{"half`)
		}
		return nil
	})
	wantBusy(t, s.rotate(r), "cannot be read")
	if got := s.read("sessions.json"); got != `{"half` || s.read(mainID+".jsonl") != transcript(mainID) {
		t.Errorf("the index is %q", got)
	}
	if got := len(s.tree()); got != 2 {
		t.Errorf("%v", s.tree())
	}
}
