package openclaw_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
)

func TestBusy(t *testing.T) {
	const name = mainID + ".jsonl"
	for what, c := range map[string]struct {
		change func(s *state)
		reason string
	}{
		"quiet and answered": {func(*state) {}, ""},
		"just changed":       {func(s *state) { s.age(s.path(name), 5*time.Second) }, "changed 5s ago"},
		"changed in future":  {func(s *state) { s.age(s.path(name), -5*time.Second) }, "in the future"},
		"question":           {func(s *state) { s.log(name, transcript(mainID)+question) }, "last turn is not answered"},
		"tool call":          {func(s *state) { s.log(name, transcript(mainID)+toolCall) }, "last turn is not answered"},
		"torn line":          {func(s *state) { s.log(name, transcript(mainID)+question[:40]) }, "last line is not finished"},
		"empty":              {func(s *state) { s.log(name, "") }, "being rewritten"},
		"shorter":            {func(s *state) { s.log(name, transcript(mainID)[:200]) }, "being rewritten"},
		"gone":               {func(s *state) { os.Remove(s.path(name)) }, "moved or removed"},
		"directory gone":     {func(s *state) { os.RemoveAll(s.root + "/agents/" + agent) }, "moved or removed"},
		"error turn":         {func(s *state) { s.log(name, transcript(mainID)+errorTurn) }, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newMain(t)
			ref := s.ref(name)
			c.change(s)
			err := s.Busy(context.Background(), ref, time.Now(), quiet)
			if c.reason != "" {
				wantBusy(t, err, c.reason)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

const errorTurn = question + `{"type":"message","id":"a0000004","parentId":"a0000003","timestamp":"2026-03-01T10:00:04.000Z","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"400"}}` + "\n"

// A log that is shorter than it was is being rewritten, so it is waited for.
func TestTailWaitsForARewrite(t *testing.T) {
	s := newMain(t)
	ref := s.ref(mainID + ".jsonl")
	s.log(mainID+".jsonl", "")
	waited := 0
	s.SetPause(func() {
		if waited++; waited == 2 {
			s.log(mainID+".jsonl", transcript(mainID))
		}
	})
	tail, err := s.Tail(context.Background(), ref)
	if err != nil || tail.Messages != 2 || waited != 2 {
		t.Errorf("%+v after %d waits, %v", tail, waited, err)
	}
	if n, err := s.CountMessages(context.Background(), ref); n != 2 || err != nil {
		t.Errorf("%d messages, %v", n, err)
	}
	s.log(mainID+".jsonl", question)
	waited = 10
	if tail, err := s.Tail(context.Background(), ref); err != nil || tail.Messages != 1 || waited != 14 {
		t.Errorf("a log that stays short: %+v after %d waits, %v", tail, waited-10, err)
	}
}

// What changes names works on paths, so the path must lead where the open
// directory is.
func TestInPlace(t *testing.T) {
	s := newMain(t)
	if err := s.InPlace(agent, func() {}); err != nil {
		t.Error(err)
	}
	dir := s.path("")
	err := s.InPlace(agent, func() {
		if err := os.Rename(dir, dir+".old"); err != nil {
			t.Skip("an open directory cannot be renamed:", err)
		}
		s.log("x.jsonl", "x")
	})
	wantBusy(t, err, "another directory has taken its place")
}

// Busy asks for a path of this store; anything else is an error, not a file.
func TestOutsideOfTheStore(t *testing.T) {
	s := newMain(t)
	ref := s.ref(mainID + ".jsonl")
	for _, path := range []string{"/etc/passwd", s.root + "/agents/../../x", s.root + "/agents/a/sessions/b/c.jsonl", s.root, "", s.root + "/agents/-a/sessions/x.jsonl"} {
		ref.Path = path
		if err := s.Busy(context.Background(), ref, time.Now(), quiet); err == nil {
			t.Errorf("Busy of %q", path)
		}
		if _, err := s.Tail(context.Background(), ref); err == nil {
			t.Errorf("Tail of %q", path)
		}
		if _, err := s.PlanRotation(context.Background(), ref, session.Snapshot{}, time.Now()); err == nil {
			t.Errorf("PlanRotation of %q", path)
		}
		r := s.plan(s.ref(mainID + ".jsonl"))
		r.Live = path
		if err := s.rotate(r); err == nil {
			t.Errorf("Rotate of %q", path)
		}
	}
}

func wantTree(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("something changed (-want +got):\n%s", diff)
	}
}
