package compact_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

func TestExecuteArchivesRemembersAndRotates(t *testing.T) {
	h := newHouse(t, 9)
	result, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy())
	if err != nil {
		t.Fatal(err)
	}
	if result.Outcome != compact.Compacted || result.TokensAfter != 0 || result.Archive == nil || h.archive.copies[result.Archive.ID] != h.log {
		t.Fatalf("result %+v", result)
	}
	if h.liveLog() != "" {
		t.Fatal("the log is still there")
	}
	if kept, err := os.ReadFile(h.ref.Path + ".kept"); err != nil || string(kept) != h.log {
		t.Fatalf("the old log was not kept: %v", err)
	}
	receipts, err := h.Receipts.List()
	if err != nil || len(receipts) != 1 {
		t.Fatalf("receipts %v, %v", receipts, err)
	}
	if r := receipts[0]; r.Source.SHA256 != result.Archive.SHA256 || r.Content.Messages != 9 || r.Content.ChunksStored != 3 || r.Outcome != compact.Compacted {
		t.Fatalf("receipt %+v", r)
	}
}

// Whatever fails before the switch leaves the session as it was.
func TestExecuteFailsWithoutTouchingTheSession(t *testing.T) {
	for name, breakIt := range map[string]func(*house){
		"archive full":         func(h *house) { h.archive.err = errDisk },
		"memory full midway":   func(h *house) { h.mind.midway = errDisk },
		"memory full":          func(h *house) { h.mind.err = errDisk },
		"embedding store full": func(h *house) { h.mind.embed = errDisk },
		"journal unwritable":   func(h *house) { must(t, os.WriteFile(h.Journal.Dir, nil, 0o600)) },
		"switch fails":         func(h *house) { h.store.rotate = errDisk },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 6)
			plan := h.newPlan(h.policy())
			breakIt(h)
			result, err := h.Execute(context.Background(), h.store, plan, h.policy())
			if err == nil || result.Outcome != compact.Failed || result.Reason == "" {
				t.Fatalf("result %+v, error %v", result, err)
			}
			if h.liveLog() != h.log {
				t.Fatal("the session was changed")
			}
		})
	}
}

func TestExecuteLeavesAChangedSessionAlone(t *testing.T) {
	for name, change := range map[string]func(*house){
		"longer, but rewritten": func(h *house) {
			other := strings.Replace(h.log, "number 3", "number X", 1) + "x\n"
			must(h.t, os.WriteFile(h.ref.Path, []byte(other), 0o600))
			h.log = other
		},
		"copied wrongly":         func(h *house) { h.archive.lie = true },
		"changed before the end": func(h *house) { h.store.rotate = &session.BusyError{Path: h.ref.Path, Reason: "it grew"} },
		"moved away": func(h *house) {
			must(h.t, os.Rename(h.ref.Path, h.ref.Path+".away"))
			must(h.t, os.WriteFile(h.ref.Path, []byte(h.log), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 6)
			plan := h.newPlan(h.policy())
			change(h)
			result, err := h.Execute(context.Background(), h.store, plan, h.policy())
			if err != nil || result.Outcome != compact.Busy || result.Receipt != "" {
				t.Fatalf("result %+v, error %v", result, err)
			}
			if !strings.HasPrefix(h.liveLog(), h.log) {
				t.Fatal("the session was changed")
			}
			if left, _ := h.Journal.List(); len(left) > 0 {
				t.Fatalf("the journal still has %v", left)
			}
		})
	}
}

func TestSkipArchiveOnlyRemembers(t *testing.T) {
	h := newHouse(t, 6)
	policy := h.policy()
	policy.SkipArchive = true
	result, err := h.Execute(context.Background(), h.store, h.newPlan(policy), policy)
	if err != nil || result.Outcome != compact.Partial || result.Archive != nil || result.Chunks != 2 || result.TokensAfter != h.store.tokens {
		t.Fatalf("result %+v, error %v", result, err)
	}
	if h.liveLog() != h.log || len(h.archive.copies) > 0 || len(h.store.calls) > 0 {
		t.Fatal("more than memory was changed")
	}
}

func TestAnEmbedderOutageIsNoReasonToStop(t *testing.T) {
	h := newHouse(t, 6)
	h.mind.pending = 2
	result, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy())
	if err != nil || result.Outcome != compact.Compacted || result.ChunksPending != 2 {
		t.Fatalf("result %+v, error %v", result, err)
	}
}

func TestInterruptedRunChangesNothing(t *testing.T) {
	h := newHouse(t, 6)
	plan := h.newPlan(h.policy())
	ctx, cancel := context.WithCancel(context.Background())
	h.Progress = func(_ session.Ref, stage compact.Stage, _, _ int64) {
		if stage == compact.StageRotate {
			cancel()
		}
	}
	if _, err := h.Execute(ctx, h.store, plan, h.policy()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if h.liveLog() != h.log || len(h.store.calls) > 0 {
		t.Fatal("the session was changed")
	}
}

func TestSettleFinishesAHalfDoneRotation(t *testing.T) {
	h := newHouse(t, 6)
	h.store.rotate = errDisk // the process died in the switch
	if _, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy()); err == nil {
		t.Fatal("no error")
	}
	h.store.rotate = nil
	must(t, h.settle())
	if h.liveLog() != "" {
		t.Fatal("the rotation was not finished")
	}
	if receipts, _ := h.Receipts.List(); len(receipts) != 1 {
		t.Fatalf("%d receipts", len(receipts))
	}
}

func TestSettleDropsARotationThatCannotHappenAnyMore(t *testing.T) {
	h := newHouse(t, 6)
	h.store.rotate = errDisk
	if _, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy()); err == nil {
		t.Fatal("no error")
	}
	h.store.rotate = &session.BusyError{Path: h.ref.Path, Reason: "it went on"}
	must(t, h.settle())
	if left, _ := h.Journal.List(); len(left) > 0 || h.liveLog() != h.log {
		t.Fatalf("journal %v", left)
	}
}

func TestSettleKeepsARotationThatHasBegun(t *testing.T) {
	h := newHouse(t, 6)
	h.store.rotate = errDisk
	if _, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy()); err == nil {
		t.Fatal("no error")
	}
	h.store.rotate = &session.BusyError{Path: h.ref.Path, Reason: "somebody has it open", Begun: true}
	must(t, h.settle())
	if left, _ := h.Journal.List(); len(left) != 1 {
		t.Fatalf("journal %v", left)
	}
}

// A line that a slow writer adds to the old log after its snapshot is
// archived and remembered by the next run.
func TestSettleSavesLateLines(t *testing.T) {
	h := newHouse(t, 6)
	if _, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy()); err != nil {
		t.Fatal(err)
	}
	const late = `{"type":"message","id":"99999999","parentId":"00000005","message":{"role":"user","content":"a late thought"}}` + "\n"
	h.ref.Path += ".kept"
	h.append(late)
	must(t, h.settle())
	if len(h.archive.copies) != 2 || h.archive.copies["copy1"] != h.log+late {
		t.Fatalf("archives %v", h.archive.copies)
	}
	found := false
	for text := range h.mind.records {
		found = found || strings.Contains(text, "a late thought")
	}
	if !found {
		t.Fatal("the late line is not in memory")
	}
}

// The old log goes only when its bytes, as they are then, are in an archive
// that can be read.
func TestSettleArchivesAgainBeforeTheOldLogGoes(t *testing.T) {
	for name, harm := range map[string]func(*house){
		"rewritten in place": func(h *house) {
			h.log = strings.ReplaceAll(h.log, "message number 3", "message number X")
			must(h.t, os.WriteFile(h.ref.Path+".kept", []byte(h.log), 0o600))
		},
		"archive lost": func(h *house) { clear(h.archive.copies) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 6)
			if _, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy()); err != nil {
				t.Fatal(err)
			}
			harm(h)
			must(t, h.settle())
			if _, err := os.Stat(h.ref.Path + ".kept"); !os.IsNotExist(err) {
				t.Fatalf("the old log was not disposed of: %v", err)
			}
			found := false
			for _, text := range h.archive.copies {
				found = found || text == h.log
			}
			if !found {
				t.Fatalf("the old log's bytes are nowhere: %v", h.archive.copies)
			}
		})
	}
}

func TestSettleStopsAtAJournalItCannotRead(t *testing.T) {
	h := newHouse(t, 6)
	must(t, os.MkdirAll(h.Journal.Dir, 0o700))
	must(t, os.WriteFile(filepath.Join(h.Journal.Dir, "x.json"), []byte("{"), 0o600))
	if err := h.settle(); err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Fatalf("error %v", err)
	}
}

func (h *house) append(text string) {
	h.t.Helper()
	f, err := os.OpenFile(h.ref.Path, os.O_APPEND|os.O_WRONLY, 0)
	must(h.t, err)
	_, err = f.WriteString(text)
	must(h.t, errors.Join(err, f.Close()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
