package openclaw_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// rotated is newMain after a rotation, with an entry that has counters.
func rotated(t *testing.T) (*state, session.Rotation) {
	t.Helper()
	s := newState(t)
	s.log(mainID+".jsonl", transcript(mainID))
	s.index(fmt.Sprintf(`{%q: {"sessionId": %q, "updatedAt": 1772359300000, "label": "desk", "totalTokens": 160000, "systemSent": true, "sessionStartedAt": 5, "lastInteractionAt": 6, "dashboard": {"pinned": [1, "ä\u00e9"]}, "a key \"of\" nobody's": null, "sessionFile": "/x/%s.jsonl"}, "agent:coordinator:cron:daily": { "sessionId":"other" }}`, mainKey, mainID, mainID))
	r := s.plan(s.ref(mainID + ".jsonl"))
	s.mustRotate(r)
	text, err := json.Marshal(r) // as a receipt keeps it
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return s, r
}

func (s *state) planBack(r session.Rotation, force bool) (session.Undo, error) {
	return s.PlanUndo(context.Background(), r, session.UndoOptions{Now: time.Now(), Quiet: quiet, Force: force})
}

func (s *state) back(u session.Undo) error {
	return s.Undo(context.Background(), u, func(w io.Writer) error {
		_, err := io.WriteString(w, transcript(mainID))
		return err
	})
}

func (s *state) mustPlanBack(r session.Rotation) session.Undo {
	s.t.Helper()
	u, err := s.planBack(r, false)
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

// wantBack checks the end state of an undone rotation.
func (s *state) wantBack(u session.Undo) {
	s.t.Helper()
	if got := s.read(mainID + ".jsonl"); got != transcript(mainID) {
		s.t.Errorf("the log is %q", got)
	}
	e := s.entries()[mainKey]
	for field, want := range map[string]string{
		"sessionId": `"` + mainID + `"`, "updatedAt": fmt.Sprint(u.At.UnixMilli()), "label": `"desk"`, "totalTokens": "160000",
		"systemSent": "true", "sessionFile": `"/x/` + mainID + `.jsonl"`, "sessionStartedAt": "5", "lastInteractionAt": "6",
		"dashboard": `{"pinned": [1, "ä\u00e9"]}`, `a key "of" nobody's`: "null", "abortedLastRun": "", "totalTokensFresh": "", "inputTokens": "",
	} {
		if e[field] != want {
			s.t.Errorf("%s is %q, want %q", field, e[field], want)
		}
	}
	if !strings.Contains(s.read("sessions.json"), `"agent:coordinator:cron:daily": { "sessionId":"other" }`) {
		s.t.Error("another entry was changed")
	}
	if ref := s.ref(mainID + ".jsonl"); !ref.Primary {
		s.t.Errorf("%+v", ref)
	}
}

// What the runtime has made of the entry since is of the fresh session and goes;
// what the user has set since stays; and what the gateway's own reset drops,
// although ours keeps it, comes back.
func TestUndoOfAnEntryThatHasGoneOn(t *testing.T) {
	s, r := rotated(t)
	s.index(fmt.Sprintf(`{%q: {"sessionId": %q, "updatedAt": 5, "thinkingLevel": "high", "lastInteractionAt": 77, "memoryFlushAt": 3, "unknown": [1]}, "agent:coordinator:cron:daily": { "sessionId":"other" }}`, mainKey, r.NewSession))
	u := s.mustPlanBack(r)
	if err := s.back(u); err != nil {
		t.Fatal(err)
	}
	s.wantBack(u)
	e := s.entries()[mainKey]
	if e["thinkingLevel"] != `"high"` || e["memoryFlushAt"] != "" || e["unknown"] != "" {
		t.Errorf("%v", e)
	}
}

// A receipt may lack a field that was too long: nothing that the
// entry has now is dropped by it.
func TestUndoWithoutEveryField(t *testing.T) {
	s, r := rotated(t)
	r.Before[0].Reset, r.Before[0].Complete = `{"totalTokens":160000,"sessionFile":"/x/`+mainID+`.jsonl"}`, false
	s.index(fmt.Sprintf(`{%q: {"sessionId": %q, "updatedAt": 5, "label": "desk", "totalTokens": 1, "unknown": [1]}, "agent:coordinator:cron:daily": { "sessionId":"other" }}`, mainKey, r.NewSession))
	u := s.mustPlanBack(r)
	if err := s.back(u); err != nil {
		t.Fatal(err)
	}
	if e := s.entries()[mainKey]; e["unknown"] != "[1]" || e["totalTokens"] != "160000" || e["sessionId"] != `"`+mainID+`"` {
		t.Errorf("%v", e)
	}
}

// Stopped after any step, an undo is finished by doing it again; the index never
// names a log that is not there.
func TestUndoStoppedAnywhere(t *testing.T) {
	for _, withFresh := range []bool{false, true} {
		for _, step := range []string{"", "back", "index back", "close"} {
			if step == "close" && !withFresh {
				continue
			}
			s, r := rotated(t)
			if withFresh { // a header, and nothing said
				s.log(r.NewSession+".jsonl", strings.SplitAfter(transcript(r.NewSession), "\n")[0])
			}
			u := s.mustPlanBack(r)
			if u.From != r.Kept || (u.Fresh != "") != withFresh {
				t.Fatalf("%+v", u)
			}
			if step != "" {
				s.killAfter(step)
				if err := s.back(u); !errors.Is(err, errKilled) {
					t.Fatal("the step was not reached:", err)
				}
				if id := s.entries()[mainKey]["sessionId"]; id == `"`+mainID+`"` && s.read(mainID+".jsonl") != transcript(mainID) {
					t.Fatal("the index names a log that is not there")
				}
				s.alive()
			}
			for range 2 {
				if err := s.back(u); err != nil {
					t.Fatal(err)
				}
				s.wantBack(u)
				if withFresh && s.read(filepath.Base(u.FreshKept)) == "" {
					t.Error("the fresh log is gone")
				}
			}
			if _, err := os.Lstat(r.Kept); !os.IsNotExist(err) {
				t.Errorf("the kept log is still there: %v", err)
			}
		}
	}
}

// The bytes come from the archive when the kept log is gone or has others.
func TestUndoFromTheArchive(t *testing.T) {
	for what, harm := range map[string]func(path string) error{
		"gone":      os.Remove,
		"rewritten": func(path string) error { return os.WriteFile(path, []byte("{}\n"), 0o600) },
	} {
		s, r := rotated(t)
		if err := harm(r.Kept); err != nil {
			t.Fatal(err)
		}
		u := s.mustPlanBack(r)
		if u.From != "" {
			t.Fatalf("%s: from %s", what, u.From)
		}
		if err := s.back(u); err != nil {
			t.Fatal(err)
		}
		s.wantBack(u)
	}
	// lines that a late writer added to it come back with it
	s, r := rotated(t)
	s.write(r.Kept, transcript(mainID)+question)
	u := s.mustPlanBack(r)
	if err := s.back(u); err != nil {
		t.Fatal(err)
	}
	if got := s.read(mainID + ".jsonl"); got != transcript(mainID)+question {
		t.Errorf("the log is %q", got)
	}
}

// A runtime that has gone on is refused; with force only what can be closed is.
func TestPlanUndoNewer(t *testing.T) {
	var newer *session.NewerError
	s, r := rotated(t)
	s.log(r.NewSession+".jsonl", transcript(r.NewSession))
	for _, force := range []bool{false, true} {
		if _, err := s.planBack(r, force); !errors.As(err, &newer) || newer.Session != r.NewSession || newer.Messages != 2 {
			t.Errorf("force %v: %v", force, err)
		}
	}
	s, r = rotated(t)
	s.index(`{"agent:coordinator:main":{"sessionId":"theirs"}}`)
	if _, err := s.planBack(r, false); !errors.As(err, &newer) || newer.Session != "theirs" {
		t.Error(err)
	}
	u, err := s.planBack(r, true)
	if err != nil || u.Rotation.NewSession != "theirs" {
		t.Fatal(u, err)
	}
	if err := s.back(u); err != nil {
		t.Fatal(err)
	}
	if id := s.entries()[mainKey]["sessionId"]; id != `"`+mainID+`"` {
		t.Error(id)
	}
	s, r = rotated(t)
	s.log(mainID+".jsonl", question) // a late writer has made it again
	if _, err := s.planBack(r, true); !errors.As(err, &newer) || newer.Path != r.Live {
		t.Error(err)
	}
	s, r = rotated(t)
	s.index(`{}`)
	if _, err := s.planBack(r, true); !errors.Is(err, session.ErrUnsupported) {
		t.Error(err)
	}
	s, r = rotated(t)
	s.log(r.NewSession+".jsonl", strings.SplitAfter(transcript(r.NewSession), "\n")[0])
	s.age(s.path(r.NewSession+".jsonl"), time.Second)
	_, err = s.planBack(r, false)
	wantBusy(t, err, "changed 1s ago")
}

// When the runtime goes on between plan and undo, everything is left, or put
// back, as it was.
func TestUndoGivesWay(t *testing.T) {
	for what, meanwhile := range map[string]func(s *state, r session.Rotation){
		"a log of the fresh session": func(s *state, r session.Rotation) { s.log(r.NewSession+".jsonl", transcript(r.NewSession)) },
		"the entry was updated": func(s *state, r session.Rotation) {
			s.index(fmt.Sprintf(`{%q:{"sessionId":%q,"updatedAt":9}}`, mainKey, r.NewSession))
		},
		"another session": func(s *state, r session.Rotation) { s.index(fmt.Sprintf(`{%q:{"sessionId":"theirs"}}`, mainKey)) },
	} {
		for _, step := range []string{"", "back"} {
			for _, kept := range []bool{true, false} {
				s, r := rotated(t)
				if !kept {
					os.Remove(r.Kept)
				}
				u := s.mustPlanBack(r)
				if step != "" {
					s.killAfter(step)
					if err := s.back(u); !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
					s.alive()
				}
				meanwhile(s, r)
				index := s.read("sessions.json")
				err := s.back(u)
				var busy *session.BusyError
				if !errors.As(err, &busy) || busy.Begun {
					t.Fatalf("%s: %v", what, err)
				}
				if _, err := os.Lstat(r.Live); !os.IsNotExist(err) {
					t.Errorf("%s, killed after %q: the old log was left at its place: %v", what, step, err)
				}
				if _, err := os.Lstat(r.Kept); (err == nil) != kept {
					t.Errorf("%s: kept: %v", what, err)
				}
				if s.read("sessions.json") != index {
					t.Errorf("%s: the index was changed", what)
				}
			}
		}
	}
}

// Plans that a journal could hold after damage are refused, not followed.
func TestUndoRefusesOddPlans(t *testing.T) {
	for what, change := range map[string]func(u *session.Undo){
		"from elsewhere": func(u *session.Undo) { u.From = "/etc/passwd" },
		"half a fresh":   func(u *session.Undo) { u.Fresh = u.Rotation.Live },
		"fresh elsewhere": func(u *session.Undo) {
			u.Fresh, u.FreshKept = "/x/a.jsonl", "/x/a.jsonl.reset.2026-03-01T10-00-00.000Z"
		},
		"kept elsewhere": func(u *session.Undo) { u.Rotation.Kept = "/x/a.jsonl" },
	} {
		s, r := rotated(t)
		u := s.mustPlanBack(r)
		change(&u)
		before := s.tree()
		if err := s.back(u); err == nil || errors.Is(err, session.ErrBusy) {
			t.Errorf("%s: %v", what, err)
		}
		wantTree(t, before, s.tree())
	}
}

// A log that no entry named comes back without one.
func TestUndoOrphan(t *testing.T) {
	s := newMain(t)
	s.log("old.jsonl", transcript("old"))
	r := s.plan(s.ref("old.jsonl"))
	s.mustRotate(r)
	u := s.mustPlanBack(r)
	index := s.read("sessions.json")
	for range 2 {
		if err := s.back(u); err != nil {
			t.Fatal(err)
		}
		if s.read("old.jsonl") != transcript("old") || s.read("sessions.json") != index {
			t.Error("it is not as it was")
		}
	}
}
