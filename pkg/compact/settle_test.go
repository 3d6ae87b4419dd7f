package compact_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// A log that a killed move has left with two names has one again: that where
// agents find it. Other files at these names stay.
func TestEndMoves(t *testing.T) {
	for _, linked := range []bool{true, false} {
		dir := t.TempDir()
		live, kept := filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "s.jsonl.rotated.2026-03-01T10-00-00.000Z")
		must(t, os.WriteFile(live, []byte("log"), 0o600))
		if linked {
			must(t, os.Link(live, kept))
		} else {
			must(t, os.WriteFile(kept, []byte("another"), 0o600))
		}
		journal := compact.Journal{Dir: filepath.Join(dir, "journal")}
		must(t, journal.Write(compact.Intent{Schema: 1, ID: "id001", Kind: compact.KindRotation, Rotation: session.Rotation{Live: live, Kept: kept}}))
		for range 2 {
			must(t, journal.EndMoves())
			_, err := os.Lstat(kept)
			if text, readErr := os.ReadFile(live); readErr != nil || string(text) != "log" || os.IsNotExist(err) != linked {
				t.Fatalf("linked %v: the log is %q (%v), the other name: %v", linked, text, readErr, err)
			}
		}
	}
}

// An old log whose archive can be read only from a cache is archived once more
// before it goes.
func TestSettleBelievesNoCache(t *testing.T) {
	for name, putAside := range map[string]func(*workspace) compact.Archived{
		"rotated": func(h *workspace) compact.Archived {
			result, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy())
			must(h.t, err)
			return *result.Archive
		},
		"replaced": func(h *workspace) compact.Archived {
			r := h.request("older\n")
			r.Force = true
			result, err := h.restore(r)
			must(h.t, err)
			return *result.Replaced
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newWorkspace(t, 6)
			h.archive.cached = putAside(h).ID
			must(t, h.settle())
			h.wantJournal(0)
			found := false
			for id, text := range h.archive.copies {
				found = found || id != h.archive.cached && text == h.log
			}
			if !found {
				t.Fatal("the old log went, and only the cache has its bytes")
			}
		})
	}
}
