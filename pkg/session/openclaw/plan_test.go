package openclaw_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
