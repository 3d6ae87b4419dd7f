package compact_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"pgregory.net/rapid"
)

func TestExecuteArchivesRemembersAndRotates(t *testing.T) {
	h := newWorkspace(t, 9)
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

// The plan reads the log and so does the copy: other bytes of the same length
// between the two are noticed by their hashes, also where the plan has none.
func TestExecuteComparesTheCopyWithThePlan(t *testing.T) {
	for _, dryRun := range []bool{false, true} {
		h := newWorkspace(t, 6)
		policy := h.policy()
		policy.DryRun = dryRun
		plan := h.newPlan(policy)
		other := strings.Replace(h.log, "number 3", "number 8", 1)
		h.archive.before = func() { must(t, os.WriteFile(h.ref.Path, []byte(other), 0o600)) }
		result, err := h.Execute(context.Background(), h.store, plan, policy)
		if err != nil || result.Outcome != compact.Busy || !strings.Contains(result.Reason, "rewritten") {
			t.Errorf("result %+v, error %v", result, err)
		}
		if h.liveLog() != other || len(h.mind.records) > 0 {
			t.Errorf("the session was touched, %d records", len(h.mind.records))
		}
	}
}

// Whatever fails before the switch leaves the session as it was.
func TestExecuteFailsWithoutTouchingTheSession(t *testing.T) {
	for name, breakIt := range map[string]func(*workspace){
		"archive full":         func(h *workspace) { h.archive.err = errDisk },
		"memory full midway":   func(h *workspace) { h.mind.midway = errDisk },
		"memory full":          func(h *workspace) { h.mind.err = errDisk },
		"embedding store full": func(h *workspace) { h.mind.embed = errDisk },
		"journal unwritable":   func(h *workspace) { must(t, os.WriteFile(h.Journal.Dir, nil, 0o600)) },
		"switch fails":         func(h *workspace) { h.store.rotate = errDisk },
	} {
		t.Run(name, func(t *testing.T) {
			h := newWorkspace(t, 6)
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
	for name, change := range map[string]func(*workspace){
		"longer, but rewritten": func(h *workspace) {
			other := strings.Replace(h.log, "number 3", "number X", 1) + "x\n"
			must(h.t, os.WriteFile(h.ref.Path, []byte(other), 0o600))
			h.log = other
		},
		"copied wrongly":         func(h *workspace) { h.archive.lie = true },
		"changed before the end": func(h *workspace) { h.store.rotate = &session.BusyError{Path: h.ref.Path, Reason: "it grew"} },
		"moved away": func(h *workspace) {
			must(h.t, os.Rename(h.ref.Path, h.ref.Path+".away"))
			must(h.t, os.WriteFile(h.ref.Path, []byte(h.log), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newWorkspace(t, 6)
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
	h := newWorkspace(t, 6)
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
	h := newWorkspace(t, 6)
	h.mind.pending = 2
	result, err := h.Execute(context.Background(), h.store, h.newPlan(h.policy()), h.policy())
	if err != nil || result.Outcome != compact.Compacted || result.ChunksPending != 2 {
		t.Fatalf("result %+v, error %v", result, err)
	}
}

func TestInterruptedRunChangesNothing(t *testing.T) {
	h := newWorkspace(t, 6)
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
	h := newWorkspace(t, 6)
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
	h := newWorkspace(t, 6)
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
	h := newWorkspace(t, 6)
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
	h := newWorkspace(t, 6)
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
	for name, harm := range map[string]func(*workspace){
		"rewritten in place": func(h *workspace) {
			h.log = strings.ReplaceAll(h.log, "message number 3", "message number X")
			must(h.t, os.WriteFile(h.ref.Path+".kept", []byte(h.log), 0o600))
		},
		"archive lost": func(h *workspace) { clear(h.archive.copies) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newWorkspace(t, 6)
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

func (h *workspace) append(text string) {
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

// said is one more message for a log.
func said(n int) string {
	return fmt.Sprintf(`{"type":"message","id":"%08x","parentId":null,"message":{"role":"assistant","stopReason":"stop","content":"one more thing %d"}}`+"\n", 0xb0000000+n, n)
}

// at has fn called the first times times that the run comes to a stage.
func (h *workspace) at(stage compact.Stage, times int, fn func(n int)) {
	calls := 0
	once := func() {
		if calls < times {
			calls++
			fn(calls)
		}
	}
	switch stage {
	case compact.StageEmbed:
		h.mind.during = once
		return
	case "copy":
		h.archive.before = once
		return
	case "survey":
		h.store.before = once
		return
	}
	var last compact.Stage
	h.Progress = func(_ session.Ref, now compact.Stage, _, _ int64) {
		if now == stage && now != last {
			once()
		}
		last = now
	}
}

// A log that only grows, wherever the run is, is followed, and the result is
// about all of it.
func TestGrowthIsFollowed(t *testing.T) {
	for _, stage := range []compact.Stage{"", compact.StageArchive, compact.StageRemember, compact.StageEmbed, compact.StageRotate} {
		for times := 1; times <= 3; times++ {
			t.Run(fmt.Sprintf("%s %d", stage, times), func(t *testing.T) {
				h := newWorkspace(t, 9)
				plan := h.newPlan(h.policy())
				grow := func(n int) { h.append(said(n)); h.log += said(n) }
				if stage == "" {
					for n := range times {
						grow(n)
					}
				} else {
					h.at(stage, times, grow)
				}
				result, err := h.Execute(context.Background(), h.store, plan, h.policy())
				if err != nil || result.Outcome != compact.Compacted {
					t.Fatalf("result %+v, error %v", result, err)
				}
				h.wantAllOfIt(result, 9+times)
			})
		}
	}
}

// wantAllOfIt checks that result, receipt, archive and kept log have the log
// as it is now.
func (h *workspace) wantAllOfIt(result compact.Result, messages int) {
	h.t.Helper()
	receipts, err := h.Receipts.List()
	must(h.t, err)
	if len(receipts) != 1 {
		h.t.Fatalf("%d receipts", len(receipts))
	}
	r := receipts[0]
	switch kept, _ := os.ReadFile(h.ref.Path + ".kept"); {
	case string(kept) != h.log:
		h.t.Fatalf("kept %d bytes, want %d", len(kept), len(h.log))
	case h.archive.copies[result.Archive.ID] != h.log:
		h.t.Fatal("the archive does not have all of it")
	case result.Bytes != int64(len(h.log)) || result.Messages != messages || result.Archive.Bytes != result.Bytes:
		h.t.Fatalf("result %+v", result)
	case r.Source.Bytes != result.Bytes || r.Source.SHA256 != result.Archive.SHA256 || r.Content.Messages != messages || r.Bytes != result.Bytes:
		h.t.Fatalf("receipt %+v", r)
	case r.Content.ChunksStored != result.Chunks || r.Content.ChunksExisting != 0:
		h.t.Fatalf("the run stored all of %d chunks, its receipt says %d and %d before", result.Chunks, r.Content.ChunksStored, r.Content.ChunksExisting)
	}
	if left, _ := h.Journal.List(); len(left) != 1 || !left[0].Switched || left[0].Settled != result.Bytes {
		h.t.Fatalf("journal %+v", left)
	}
}

func TestGrowthIsFollowedThreeTimes(t *testing.T) {
	h := newWorkspace(t, 9)
	plan := h.newPlan(h.policy())
	h.at(compact.StageEmbed, 4, func(n int) { h.append(said(n)); h.log += said(n) })
	result, err := h.Execute(context.Background(), h.store, plan, h.policy())
	if err != nil || result.Outcome != compact.Busy || !strings.Contains(result.Reason, "for the 4th time") {
		t.Fatalf("result %+v, error %v", result, err)
	}
	h.wantUntouched(result)
}

func (h *workspace) wantUntouched(result compact.Result) {
	h.t.Helper()
	if left, _ := h.Journal.List(); h.liveLog() != h.log || len(left) > 0 || result.Receipt != "" {
		h.t.Fatalf("the session was changed, or a change was noted: %v", left)
	}
}

// Growth is followed, but the session must be idle again before it is changed.
func TestGrownSessionMustBeIdleAgain(t *testing.T) {
	h := newWorkspace(t, 9)
	plan := h.newPlan(h.policy())
	h.at(compact.StageEmbed, 1, func(n int) {
		h.append(said(n))
		h.log += said(n)
		h.store.busy = &session.BusyError{Path: h.ref.Path, Reason: "it changed 2s ago"}
	})
	result, err := h.Execute(context.Background(), h.store, plan, h.policy())
	if err != nil || result.Outcome != compact.Busy || result.Reason != "it grew while it was worked on, and it changed 2s ago" {
		t.Fatalf("result %+v, error %v", result, err)
	}
	h.wantUntouched(result)
	if h.archive.copies[result.Archive.ID] != h.log {
		t.Fatal("what it grew by was not archived")
	}
}

// A longer log that does not begin with what was read is no growth, nor is
// another file.
func TestRewritingIsNotGrowth(t *testing.T) {
	for name, rewrite := range map[string]func(*workspace) string{
		"in place": func(h *workspace) string {
			other := strings.Replace(h.log, "number 3", "number X", 1) + said(1)
			must(h.t, os.WriteFile(h.ref.Path, []byte(other), 0o600))
			return other
		},
		"another file": func(h *workspace) string {
			must(h.t, os.Rename(h.ref.Path, h.ref.Path+".away"))
			must(h.t, os.WriteFile(h.ref.Path, []byte(h.log+said(1)), 0o600))
			return h.log + said(1)
		},
	} {
		for _, stage := range []compact.Stage{compact.StageArchive, compact.StageEmbed, compact.StageRotate} {
			t.Run(name+" at "+string(stage), func(t *testing.T) {
				h := newWorkspace(t, 9)
				plan := h.newPlan(h.policy())
				h.at(stage, 1, func(int) { h.log = rewrite(h) })
				result, err := h.Execute(context.Background(), h.store, plan, h.policy())
				if err != nil || result.Outcome != compact.Busy {
					t.Fatalf("result %+v, error %v", result, err)
				}
				h.wantUntouched(result)
			})
		}
	}
}

// A log that is shorter for a moment is being rewritten in place: wherever the
// run is then, it waits and goes on with the log that is whole again.
func TestRewritingInPlaceIsWaitedFor(t *testing.T) {
	for _, stage := range []compact.Stage{"plan", "survey", "pin", "copy", compact.StageArchive, compact.StageEmbed, compact.StageRotate} {
		for _, grown := range []string{"", said(1)} {
			t.Run(fmt.Sprintf("%s, %d bytes more", stage, len(grown)), func(t *testing.T) {
				h := newWorkspace(t, 9)
				policy, waited := h.policy(), 0
				policy.Wait = func(_ context.Context, d time.Duration) error {
					waited++
					if d != time.Second {
						t.Errorf("waited %s", d)
					}
					h.overwrite(h.log + grown)
					return nil
				}
				shorten := func(int) { h.overwrite(h.log[:len(h.log)/2]) }
				if stage == "plan" {
					shorten(0)
				}
				if stage == "survey" {
					h.at(stage, 1, shorten)
				}
				plan := h.newPlan(policy)
				if early := stage == "plan" || stage == "survey"; early && plan.Survey.Scan.Messages != 9+strings.Count(grown, "\n") {
					t.Fatalf("planned with %d messages", plan.Survey.Scan.Messages)
				}
				if stage == "pin" {
					shorten(0)
				}
				if stage != "survey" {
					h.at(stage, 1, shorten)
				}
				result, err := h.Execute(context.Background(), h.store, plan, policy)
				if err != nil || result.Outcome != compact.Compacted || waited != 1 {
					t.Fatalf("result %+v, error %v, waited %d times", result, err, waited)
				}
				h.log += grown
				h.wantAllOfIt(result, 9+strings.Count(grown, "\n"))
			})
		}
	}
}

// overwrite truncates the log and writes it again: the same inode.
func (h *workspace) overwrite(text string) {
	h.t.Helper()
	must(h.t, os.WriteFile(h.ref.Path, []byte(text), 0o600))
}

// The wait is bounded, and ends with the run.
func TestRewritingInPlaceThatDoesNotEnd(t *testing.T) {
	for _, stage := range []compact.Stage{"plan", "pin", compact.StageEmbed} {
		for _, stopped := range []error{nil, context.Canceled} {
			t.Run(fmt.Sprintf("%s, %v", stage, stopped), func(t *testing.T) {
				h := newWorkspace(t, 9)
				policy, waited := h.policy(), 0
				policy.Wait = func(context.Context, time.Duration) error { waited++; return stopped }
				shorten := func(int) { h.log = h.log[:len(h.log)/2]; h.overwrite(h.log) }
				if stage == "plan" {
					shorten(0)
				}
				plan, err := compact.NewPlan(context.Background(), h.store, h.ref, policy, h.Now())
				if stage == "pin" {
					shorten(0)
				}
				var result compact.Result
				if err == nil && plan.Outcome == compact.Planned {
					h.at(stage, 1, shorten)
					result, err = h.Execute(context.Background(), h.store, plan, policy)
				} else if err == nil {
					result = plan.Result()
				}
				switch {
				case stopped != nil && (!errors.Is(err, stopped) || waited != 1):
					t.Fatalf("error %v, waited %d times", err, waited)
				case stopped == nil && (err != nil || result.Outcome != compact.Busy || waited != 2 || !strings.Contains(result.Reason, "rewritten")):
					t.Fatalf("result %+v, error %v, waited %d times", result, err, waited)
				}
				h.wantUntouched(result)
			})
		}
	}
}

// Memory only keeps what was read to its end: without an archive too.
func TestSkipArchiveFollowsGrowth(t *testing.T) {
	h := newWorkspace(t, 9)
	policy := h.policy()
	policy.SkipArchive = true
	plan := h.newPlan(policy)
	h.append(said(1))
	result, err := h.Execute(context.Background(), h.store, plan, policy)
	if err != nil || result.Outcome != compact.Partial || result.Messages != 10 {
		t.Fatalf("result %+v, error %v", result, err)
	}
}

// Whatever an agent does to its log at whatever moment: the session is rotated
// as it then is, or left as it then is.
func TestWhateverHappensToTheLogMeanwhile(t *testing.T) {
	stages := []compact.Stage{"copy", compact.StageArchive, compact.StageRemember, compact.StageEmbed, compact.StageRotate}
	rapid.Check(t, func(rt *rapid.T) {
		h := newWorkspace(t, rapid.IntRange(2, 12).Draw(rt, "messages"))
		policy := h.policy()
		policy.Wait = func(context.Context, time.Duration) error { h.overwrite(h.log); return nil }
		plan := h.newPlan(policy)
		rewritten := false
		h.at(rapid.SampledFrom(stages).Draw(rt, "stage"), rapid.IntRange(0, 5).Draw(rt, "times"), func(n int) {
			switch rapid.SampledFrom([]string{"grow", "shorten", "touch", "rewrite", "nothing"}).Draw(rt, "change") {
			case "grow":
				h.append(said(n))
				h.log += said(n)
			case "shorten":
				h.overwrite(h.log[:rapid.IntRange(0, len(h.log)-1).Draw(rt, "length")])
			case "touch":
				h.overwrite(h.log)
			case "rewrite":
				rewritten = true
				h.log = strings.Replace(h.log, "number 1", "NUMBER 1", 1) + said(n)
				h.overwrite(h.log)
			}
		})
		result, err := h.Execute(context.Background(), h.store, plan, policy)
		switch {
		case err != nil:
			rt.Fatalf("error %v", err)
		case result.Outcome == compact.Compacted && rewritten:
			rt.Fatal("a rewritten log was rotated")
		case result.Outcome == compact.Compacted:
			h.wantAllOfIt(result, strings.Count(h.log, "\n")-1)
		case result.Outcome == compact.Busy:
			if !strings.HasPrefix(h.log, h.liveLog()) {
				rt.Fatal("the session was changed")
			}
		default:
			rt.Fatalf("outcome %s", result.Outcome)
		}
	})
}
