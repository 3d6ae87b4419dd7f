package compact_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// stuck is a workspace with a change that this version does not know.
func stuck(t *testing.T) (*workspace, compact.Intent) {
	t.Helper()
	h := newWorkspace(t, 6)
	kept := h.ref.Path + ".kept"
	must(t, os.WriteFile(kept, []byte(said(1)), 0o600))
	in := compact.Intent{Schema: 1, ID: "ID000", Kind: "merge", Rotation: session.Rotation{
		Runtime: "test", Agent: "a", Session: "s1", Store: h.store.dir, Live: h.ref.Path, Kept: kept, At: h.Now(),
	}}
	must(t, h.Journal.Write(in))
	return h, in
}

func unfinished(t *testing.T, err error) *compact.UnfinishedError {
	t.Helper()
	var e *compact.UnfinishedError
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an UnfinishedError", err)
	}
	return e
}

// What cannot be finished stops nothing else: it is set aside with its reason,
// which is told as new once, and the next entry is settled.
func TestSettleSetsAsideWhatItCannotFinish(t *testing.T) {
	h, in := stuck(t)
	must(t, os.WriteFile(h.Journal.Path("ID001"), []byte("{"), 0o600))
	gone := in
	gone.ID, gone.Kind, gone.Switched, gone.Rotation.Session, gone.Rotation.Kept = "ID002", compact.KindRotation, true, "s2", h.ref.Path+".gone"
	must(t, h.Journal.Write(gone))
	for run, known := range []bool{false, true} {
		e := unfinished(t, h.settle())
		if len(e.Entries) != 2 || e.Entries[0].Known != known || e.Entries[1].Known != known {
			t.Fatalf("run %d: %+v", run, e.Entries)
		}
		for _, u := range e.Entries {
			if note, found := h.Journal.Note(u.ID); !found || note.Reason != u.Reason || note.Reason == "" {
				t.Errorf("run %d: note %+v of %+v", run, note, u)
			}
		}
	}
	if left := h.intents(); len(left) != 1 || left[0].ID != in.ID {
		t.Errorf("the journal has %+v, want what cannot be finished", left)
	}
	in.Kind, in.Switched, in.Archive = compact.KindRotation, true, compact.Archived{}
	must(t, errors.Join(h.Journal.Write(in), os.Remove(h.Journal.Path("ID001")), os.Remove(filepath.Join(h.Journal.Dir, "ID001.set-aside"))))
	if err := h.settle(); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(h.Journal.Dir); err != nil || len(names) > 0 {
		t.Errorf("left in the journal: %v, %v", names, err)
	}
}

// What a change names that was set aside is neither changed nor deleted.
func TestWhatIsSetAsideIsKept(t *testing.T) {
	h, in := stuck(t)
	must(t, os.WriteFile(h.Journal.Path("ID001"), []byte(`{"rotation": {"session": "torn"`), 0o600))
	needs, err := h.Journal.Needs()
	must(t, err)
	if needs.Stuck(h.ref) != nil {
		t.Error("stuck before anybody has tried to finish it")
	}
	unfinished(t, h.settle())
	needs, err = h.Journal.Needs()
	must(t, err)
	other := session.Ref{Runtime: "test", Agent: "a", ID: "s2"}
	torn := session.Ref{Runtime: "test", Agent: "a", ID: "torn"}
	if needs.Stuck(h.ref) == nil || needs.Stuck(session.Ref{Path: in.Rotation.Kept}) == nil || needs.Stuck(torn) == nil || needs.Stuck(other) != nil {
		t.Errorf("stuck: %v, %v, %v, %v", needs.Stuck(h.ref), needs.Stuck(session.Ref{Path: in.Rotation.Kept}), needs.Stuck(torn), needs.Stuck(other))
	}
	if needs.Keeps(h.ref) == "" || needs.KeepsArchive("x", other) == "" {
		t.Error("an entry that cannot be read may need anything")
	}
	must(t, os.Remove(h.Journal.Path("ID001")))
	in.Archive.ID = "a1"
	must(t, h.Journal.Write(in))
	needs, err = h.Journal.Needs()
	must(t, err)
	if needs.Keeps(h.ref) == "" || needs.Keeps(other) != "" || needs.KeepsArchive("a1", other) == "" || needs.KeepsArchive("a2", other) != "" || needs.KeepsArchive("a2", h.ref) == "" {
		t.Errorf("kept: %q, %q, %q, %q", needs.Keeps(h.ref), needs.Keeps(other), needs.KeepsArchive("a1", other), needs.KeepsArchive("a2", other))
	}
	var stuck *compact.StuckError
	result, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy())
	if !errors.As(err, &stuck) || result.Outcome != compact.Failed || h.liveLog() != h.log || len(h.store.calls) > 0 {
		t.Errorf("%+v, %v, calls %v", result, err, h.store.calls)
	}
}

// Giving up archives and remembers what was put aside, touches no log and keeps
// the entry; a log that cannot be archived is not given up.
func TestGiveUp(t *testing.T) {
	h, in := stuck(t)
	u := unfinished(t, h.settle()).Entries[0]
	h.archive.err = errDisk
	if _, err := h.GiveUp(context.Background(), h.store, u, h.policy()); !errors.Is(err, errDisk) || len(h.intents()) != 1 {
		t.Fatalf("error %v, journal %+v", err, h.intents())
	}
	h.archive.err = nil
	given, err := h.GiveUp(context.Background(), h.store, u, h.policy())
	must(t, err)
	if len(given.Archives) != 1 || h.archive.copies[given.Archives[0].ID] != said(1) || len(h.mind.records) == 0 {
		t.Errorf("%+v, memory %v", given, h.mind.records)
	}
	kept, err := os.ReadFile(in.Rotation.Kept)
	if err != nil || string(kept) != said(1) || h.liveLog() != h.log {
		t.Errorf("a log was touched: %q, %v", kept, err)
	}
	if text, err := os.ReadFile(given.Entry); err != nil || !strings.Contains(string(text), `"merge"`) {
		t.Errorf("the entry is not kept: %q, %v", text, err)
	}
	if names, err := os.ReadDir(h.Journal.Dir); err != nil || len(names) > 0 {
		t.Errorf("left in the journal: %v, %v", names, err)
	}
}

// An undo whose log is back and that cannot make memory what it was is given up
// only as far as memory goes.
func TestGiveUpAnUndoLeavesMemory(t *testing.T) {
	g := newGround(t, session.RuntimePi, durable.System{})
	g.compact(g.live)
	receipts, err := g.Receipts.List()
	must(t, err)
	plan, err := g.PlanUndo(context.Background(), g.store, compact.UndoRequest{Receipt: receipts[0], Force: true, Policy: g.policy()})
	must(t, err)
	g.Withdrawer = broken{}
	if _, err := g.Undo(context.Background(), g.store, plan); !errors.Is(err, errDisk) {
		t.Fatalf("error %v", err)
	}
	e := unfinished(t, g.trySettle(0))
	given, err := g.GiveUp(context.Background(), g.store, e.Entries[0], g.policy())
	must(t, err)
	if !given.Finished || len(g.unsettled()) > 0 || g.read(g.live) != g.log {
		t.Errorf("%+v, journal %+v", given, g.unsettled())
	}
	receipts, err = g.Receipts.List()
	must(t, err)
	if by, undone := compact.UndoneBy(receipts)[plan.Receipt.ID]; !undone || !by.Undo.MemoryKept {
		t.Errorf("the receipt of the undo: %+v", by)
	}
}

// broken is a memory from which nothing can be taken.
type broken struct{}

func (broken) Withdraw(context.Context, session.Ref, []string, bool) (int, error) { return 0, errDisk }

func (broken) WithdrawAlone(context.Context, session.Ref, compact.Made) (int, error) {
	return 0, errDisk
}
