package openclaw_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
)

// A plan is refused for what is never changed.
func TestPlanRefuses(t *testing.T) {
	s := newMain(t)
	s.log("new.jsonl", version("new", 4))
	s.log(mainID+".jsonl.reset.2026-01-03T04-05-06.789Z", transcript("x"))
	for _, name := range []string{"new.jsonl", mainID + ".jsonl.reset.2026-01-03T04-05-06.789Z"} {
		before := s.tree()
		ref := s.ref(name)
		_, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), time.Now())
		if !errors.Is(err, session.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		wantTree(t, before, s.tree())
	}
}

// A log that got a second name since it was listed is not rotated.
func TestPlanRefusesLinks(t *testing.T) {
	s := newMain(t)
	ref := s.ref(mainID + ".jsonl")
	if err := os.Link(ref.Path, s.path("second.txt")); err != nil {
		t.Skip("no hard links:", err)
	}
	if _, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), time.Now()); !errors.Is(err, session.ErrUnsupported) {
		t.Error(err)
	}
}

// A plan is busy if the index has changed since the session was listed.
func TestPlanOfAnotherKind(t *testing.T) {
	s := newMain(t)
	ref := s.ref(mainID + ".jsonl")
	s.index(`{}`)
	_, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), time.Now())
	wantBusy(t, err, "sessions.json has changed")
	if err := os.Remove(ref.Path); err != nil {
		t.Fatal(err)
	}
	_, err = s.PlanRotation(context.Background(), ref, session.Snapshot{}, time.Now())
	wantBusy(t, err, "moved or removed")
}

// A name for the closed log that is taken is not used.
func TestKeptNameIsFree(t *testing.T) {
	s := newMain(t)
	ref, now := s.ref(mainID+".jsonl"), time.Now()
	first, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), now)
	if err != nil {
		t.Fatal(err)
	}
	s.write(first.Kept, "another")
	second, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), now)
	if err != nil || second.Kept == first.Kept {
		t.Fatal(second.Kept, err)
	}
	// and one that was taken since is not replaced
	wantBusy(t, s.rotate(first), "another file is at")
	s.mustRotate(second)
	if s.read(filepath.Base(first.Kept)) != "another" {
		t.Error("a file was replaced")
	}
}

func TestRotate(t *testing.T) {
	s := newMain(t)
	if err := os.Chmod(s.path("sessions.json"), 0o640); err != nil {
		t.Fatal(err)
	}
	ref := s.ref(mainID + ".jsonl")
	inode, err := os.Lstat(ref.Path)
	if err != nil {
		t.Fatal(err)
	}
	before := s.tree()
	r := s.plan(ref)
	wantTree(t, before, s.tree())
	wantPlan(t, s, r)
	s.mustRotate(r)

	want := maps.Clone(before)
	dir := "/agents/" + agent + "/sessions/"
	want[dir+filepath.Base(r.Kept)] = want[dir+mainID+".jsonl"]
	delete(want, dir+mainID+".jsonl")
	want[dir+"sessions.json"] = "-rw-r----- " + fmt.Sprintf(`{%q: {"sessionId": %q, "updatedAt": %d, "systemSent": false, "abortedLastRun": false, "label": "desk", "inputTokens": 0, "outputTokens": 0, "totalTokens": 0, "totalTokensFresh": true}, "agent:coordinator:cron:daily": { "sessionId":"other" }}`,
		mainKey, r.NewSession, r.At.UnixMilli())
	wantTree(t, want, s.tree())
	if kept, err := os.Lstat(r.Kept); err != nil || !os.SameFile(inode, kept) {
		t.Error("the log's inode was not kept:", err)
	}
	if got := s.list().Refs; len(got) != 1 || got[0].Kind != session.KindReset {
		t.Errorf("%+v", got)
	}
}

func wantPlan(t *testing.T, s *state, r session.Rotation) {
	t.Helper()
	if !regexp.MustCompile(`\.jsonl\.reset\.\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z$`).MatchString(r.Kept) {
		t.Errorf("kept as %s", r.Kept)
	}
	r.Kept, r.NewSession, r.At, r.Snapshot = "", "", time.Time{}, session.Snapshot{}
	want := session.Rotation{
		Runtime: "openclaw", Agent: agent, Session: mainID, Store: s.root, Live: s.path(mainID + ".jsonl"), Index: s.path("sessions.json"),
		Keys: []string{mainKey}, Before: []session.IndexEntry{{Key: mainKey, Session: mainID, UpdatedAt: "1772359300000", Reset: `{"label":"desk"}`, Complete: true}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

// The journal holds a rotation as JSON.
func TestRotateFromJournal(t *testing.T) {
	s := newMain(t)
	text, err := json.Marshal(s.plan(s.ref(mainID + ".jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	var r session.Rotation
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	s.mustRotate(r)
	if !strings.Contains(s.read("sessions.json"), r.NewSession) {
		t.Error("not rotated")
	}
}

// All keys of one log get the same new session, and a thread's log is rotated
// like any other.
func TestRotateAllKeys(t *testing.T) {
	s := newState(t)
	s.log("a-topic-42.jsonl", transcript("a"))
	s.index(`{
 "agent:coordinator:telegram:group:-1:topic:42": {"sessionId": "a", "channel": "telegram", "lastThreadId": 42},
 "x": {"sessionId": "a", "sessionFile": "/home/me/a-topic-42.jsonl"},
 "agent:coordinator:other": {"sessionId": "b", "updatedAt": 1.0}
}`)
	r := s.plan(s.ref("a-topic-42.jsonl"))
	s.mustRotate(r)
	var index map[string]map[string]any
	if err := json.Unmarshal([]byte(s.read("sessions.json")), &index); err != nil {
		t.Fatal(err)
	}
	one, two := index["agent:coordinator:telegram:group:-1:topic:42"], index["x"]
	if one["sessionId"] != r.NewSession || two["sessionId"] != r.NewSession || one["channel"] != "telegram" || one["lastThreadId"] != 42.0 || two["sessionFile"] != nil {
		t.Errorf("%v", index)
	}
	if !strings.Contains(s.read("sessions.json"), `"agent:coordinator:other": {"sessionId": "b", "updatedAt": 1.0}`) {
		t.Error("another entry was changed")
	}
}

// A log that no entry names is only closed.
func TestRotateOrphan(t *testing.T) {
	s := newMain(t)
	s.log("old.jsonl", transcript("old"))
	index := s.read("sessions.json")
	r := s.plan(s.ref("old.jsonl"))
	if len(r.Keys) != 0 || r.NewSession != "" {
		t.Errorf("%+v", r)
	}
	s.mustRotate(r)
	s.mustRotate(r)
	if s.read("sessions.json") != index || s.read(filepath.Base(r.Kept)) != transcript("old") {
		t.Error("the index changed, or the log is not kept")
	}
	// but not once an entry names it
	s.log("old.jsonl", transcript("old"))
	r = s.plan(s.ref("old.jsonl"))
	s.index(`{"k":{"sessionId":"old"}}`)
	wantBusy(t, s.rotate(r), "sessions.json has changed")
	if s.read("old.jsonl") == "" {
		t.Error("the log is gone")
	}
}

// Rotations that a journal could hold after damage are refused, not followed.
func TestRotateRefusesOddPlans(t *testing.T) {
	for name, change := range map[string]func(r *session.Rotation){
		"kept elsewhere": func(r *session.Rotation) { r.Kept = filepath.Join(t.TempDir(), filepath.Base(r.Kept)) },
		"kept of another": func(r *session.Rotation) {
			r.Kept = filepath.Join(filepath.Dir(r.Kept), "b.jsonl.reset.2026-01-03T04-05-06.789Z")
		},
		"kept as a log":      func(r *session.Rotation) { r.Kept = filepath.Join(filepath.Dir(r.Kept), "b.jsonl") },
		"index elsewhere":    func(r *session.Rotation) { r.Index = filepath.Join(t.TempDir(), "sessions.json") },
		"live is the index":  func(r *session.Rotation) { r.Live = r.Index },
		"entries missing":    func(r *session.Rotation) { r.Before = nil },
		"unsafe new session": func(r *session.Rotation) { r.NewSession = `x","y":"` },
		"no new session":     func(r *session.Rotation) { r.NewSession = "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newMain(t)
			before := s.tree()
			r := s.plan(s.ref(mainID + ".jsonl"))
			change(&r)
			if err := s.rotate(r); err == nil || errors.Is(err, session.ErrBusy) {
				t.Errorf("error %v", err)
			}
			wantTree(t, before, s.tree())
		})
	}
}

// A whole state directory of the samples: its main session is rotated, and
// everything else stays byte for byte.
func TestRotateSamples(t *testing.T) {
	t.Run("derived", func(t *testing.T) {
		s := newState(t)
		copied(t, samples.Beside(t, "samples/openclaw/derived"), s.root)
		rotateSample(t, s, "11111111-1111-4111-8111-111111110001.jsonl")
	})
	for _, name := range []string{"1-local-two-turns", "2-grown", "3-compacted-plus-turn", "4-after-reset", "5-turn-after-reset", "7-hand-rotated-gateway-turn"} {
		t.Run(name, func(t *testing.T) {
			s := newState(t)
			copied(t, samples.Beside(t, "samples/real/openclaw-2026.7.1/"+name), filepath.Dir(s.path("x")))
			for _, ref := range s.list().Refs {
				if ref.Primary {
					rotateSample(t, s, filepath.Base(ref.Path))
					return
				}
			}
			t.Error("no main session")
		})
	}
}

// losable are the fields of real entries that describe the old session.
const losable = `sessionId updatedAt sessionFile systemSent abortedLastRun inputTokens outputTokens totalTokens totalTokensFresh
	sessionStartedAt lastInteractionAt lastActivityAt agentHarnessId systemPromptReport cacheRead cacheWrite estimatedCostUsd status
	startedAt endedAt runtimeMs contextBudgetStatus memoryFlushAt memoryFlushCompactionCount`

func rotateSample(t *testing.T, s *state, name string) {
	t.Helper()
	ref := s.ref(name)
	if !ref.Primary || ref.Key != mainKey || ref.State != session.StateIdle {
		t.Fatalf("%+v", ref)
	}
	before, old := s.tree(), s.entries()
	r := s.plan(ref)
	s.mustRotate(r)
	after, now := s.tree(), s.entries()
	dir := "/agents/" + agent + "/sessions/"
	if after[dir+filepath.Base(r.Kept)] != before[dir+name] {
		t.Error("the kept log is not the log")
	}
	// The lock of the index that a sample has is of a process that is gone.
	for _, changed := range []string{dir + name, dir + filepath.Base(r.Kept), dir + "sessions.json", dir + "sessions.json.lock"} {
		delete(before, changed)
		delete(after, changed)
	}
	wantTree(t, before, after)
	for field, value := range old[mainKey] {
		if now[mainKey][field] != value && !slices.Contains(strings.Fields(losable), field) {
			t.Errorf("%s was %s and is %q", field, value, now[mainKey][field])
		}
	}
	if now[mainKey]["sessionId"] != `"`+r.NewSession+`"` || now[mainKey]["totalTokens"] != "0" {
		t.Errorf("%v", now[mainKey])
	}
	delete(old, mainKey)
	delete(now, mainKey)
	if diff := cmp.Diff(old, now); diff != "" {
		t.Error(diff)
	}
}

// entries are the raw fields of the index by key.
func (s *state) entries() map[string]map[string]string {
	s.t.Helper()
	var raw map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.read("sessions.json")), &raw); err != nil {
		s.t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for key, fields := range raw {
		all[key] = map[string]string{}
		for field, value := range fields {
			all[key][field] = string(value)
		}
	}
	return all
}
