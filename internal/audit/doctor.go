package audit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

// DoctorOptions are the options of doctor.
type DoctorOptions struct {
	Fix    bool
	GiveUp string // the id of a journal entry, or its start
	// TrustClock declares recorded times in the future wrong.
	TrustClock bool
}

// Severity says how much a finding matters.
type Severity string

// The severities, mildest first.
const (
	SeverityOK      Severity = "ok"
	SeverityNote    Severity = "note"
	SeverityWarning Severity = "warning"
	SeverityProblem Severity = "problem"
)

// Finding is one thing that doctor saw.
type Finding struct {
	Severity  Severity `json:"severity"`
	Check     string   `json:"check"` // what was looked at: config, data, lock, runs, ...
	Path      string   `json:"path"`
	Message   string   `json:"message"`
	Advice    string   `json:"advice"`    // what to do, or ""
	Integrity bool     `json:"integrity"` // an archive or the memory is damaged
}

// Matters says whether doctor ends with an error for it.
func (f Finding) Matters() bool {
	return f.Severity == SeverityWarning || f.Severity == SeverityProblem
}

// DoctorDocument is `doctor --json`.
type DoctorDocument struct {
	Schema   int       `json:"schema"`
	Fixed    bool      `json:"fixed"` // --fix was given and ran to its end
	Findings []Finding `json:"findings"`
	GivenUp  *GivenUp  `json:"given_up,omitempty"` // with --give-up
}

// TrustClock keeps that the clock is right, if any recorded time says otherwise.
func TrustClock(ctx context.Context, run *workspace.Run) error {
	wrong := 0
	if workspace.Exists(run.DataDir()) { // else nothing was ever recorded
		lock, err := run.Lock(ctx)
		if err != nil {
			return err
		}
		defer lock.Unlock()
		if err := run.Pins.Sweep(run.DataDir(), 0); err != nil { // of a run that was killed here
			return err
		}
		recorded, err := Recorded(run)
		if err != nil {
			return err
		}
		if wrong, err = Clock(run).Trust(run.Now(), recorded); err != nil {
			return err
		}
	}
	message := "no recorded time lies in the future: there is nothing to declare wrong"
	if wrong > 0 {
		message = fmt.Sprintf("the clock is taken to be right, and %s in the future to be wrong", wording.Plural(wrong, "recorded time"))
	}
	run.Notice(workspace.Note{Path: Clock(run).Path, Message: message})
	return nil
}

// FixUp does what every state-changing command does first. The memory is only
// opened if an earlier run left something unfinished.
func FixUp(ctx context.Context, run *workspace.Run) error {
	if !workspace.Exists(run.DataDir()) {
		return nil // no run ever began
	}
	w, err := OpenFixing(ctx, run)
	if err != nil {
		return err
	}
	defer w.Close()
	return closeMemory(ctx, run)
}

// OpenFixing opens the workspace and finishes what can be finished.
func OpenFixing(ctx context.Context, run *workspace.Run) (*workspace.Workspace, error) {
	all, _, err := run.ListStores(ctx)
	if f := (*failure.Error)(nil); err != nil && !(errors.As(err, &f) && f.Code == "no_store") {
		return nil, err
	}
	return workspace.Open(ctx, run, workspace.Mode{Reason: "compact", Recover: &workspace.Recovery{Sessions: all.Sessions, Policy: run.RecoveryPolicy()}})
}

// closeMemory opens the memory and closes it again, so that what a killed run
// left in its log is written into it, and what it left of a forget is finished.
// A damaged one is looked at later.
func closeMemory(ctx context.Context, run *workspace.Run) error {
	if !workspace.Exists(filepath.Join(run.MemoryDir(), "memory.db-wal")) && !memoryWaits(ctx, &run.Settings) {
		return nil
	}
	store, err := workspace.ChangeMemory(ctx, run, false)
	if errors.Is(err, memory.ErrCorrupt) || errors.Is(err, memory.ErrNewerSchema) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	return store.Close()
}

// memoryWaits says whether there is something to do in the memory: a forget was
// cut off, or what was forgotten, or what agents stored, is not recorded.
func memoryWaits(ctx context.Context, a *workspace.Settings) bool {
	store, err := memory.Open(ctx, a.MemoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		return false // it is looked at later
	}
	defer store.Close()
	due, err := store.WipeIsDue(ctx)
	return err == nil && (due || !store.RecordsForgotten(ctx) || store.OwnWordsWait(ctx))
}

// AdviseFix is what to do about what --fix mends.
const AdviseFix = "sessctl doctor --fix, or the next compaction, does it"
