package removal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// UndoOptions are the argument and the flags of undo.
type UndoOptions struct {
	Receipt    string // its id, the start or the end of one, or its path
	KeepMemory bool
	DryRun     bool
	Force      bool
	Quiet      time.Duration
}

// UndoDocument is `undo --json`.
type UndoDocument struct {
	Schema  int                          `json:"schema"`
	DryRun  bool                         `json:"dry_run"`
	Undoes  string                       `json:"undoes"` // id of the compaction's receipt
	Session selection.CompactedSession   `json:"session"`
	From    string                       `json:"from"`     // what the log comes from: "kept" or "archive"
	PutAway []selection.CompactedSession `json:"put_away"` // newer sessions that were compacted first
	Memory  undoneMemory                 `json:"memory"`
	Notes   []workspace.Note             `json:"notes"`
}

type undoneMemory struct {
	Kept      bool `json:"kept"`
	Withdrawn int  `json:"withdrawn"` // records
}

// UndoRun is one undo on its way.
type UndoRun struct {
	*workspace.Run
	Compactor *compact.Compactor
	Store     session.Store
	Request   compact.UndoRequest
	Doc       UndoDocument
}

// NoteLessons says that an undo leaves the lessons of a session where they are.
func (u *UndoRun) NoteLessons(p *compact.UndoPlan) {
	learner := session.CapabilitiesOf(u.Store).Learner
	if learner == nil || p.Outcome != compact.Planned || p.Receipt.Lessons == 0 {
		return
	}
	ref := session.Ref{Runtime: p.Receipt.Runtime, Agent: p.Receipt.Agent, ID: p.Receipt.Session}
	u.Notice(workspace.Note{
		Path: learner.LessonsFile(ref), Message: "what the compaction has learned stays here and in memory: other sessions may have read it since",
		Hint: "delete by hand what should not stay",
	})
}

// Plan makes a plan that needs nothing to be put away any more, or in a dry run
// the first one. What was put away may have left another newer session.
func (u *UndoRun) Plan(ctx context.Context) (*compact.UndoPlan, error) {
	if err := u.checkReceipt(ctx); err != nil {
		return nil, err
	}
	const tries = 4
	for range tries {
		plan, err := u.Compactor.PlanUndo(ctx, u.Store, u.Request)
		if err != nil || plan.First == nil || u.Doc.DryRun {
			return plan, err
		}
		result, err := u.Compactor.PutAwayFirst(ctx, u.Store, plan)
		if err != nil {
			return nil, err
		}
		u.Doc.PutAway = append(u.Doc.PutAway, selection.NewCompactedSession(result))
	}
	return nil, errors.New("new sessions keep taking its place")
}

// checkReceipt holds the receipt, and the archive that it names, against the ledger.
func (u *UndoRun) checkReceipt(ctx context.Context) error {
	returns, err := audit.NewReturns(ctx, u.Run)
	if err == nil {
		err = returns.Receipt(u.Request.Receipt.ID)
	}
	if a := u.Request.Receipt.Archive; err == nil && a != nil {
		err = returns.Archive(a.ID, a.SHA256)
	}
	return err
}

// StoreOf finds the store that a receipt is about.
func StoreOf(run *workspace.Run, r compact.Receipt) (session.Store, error) {
	stores, err := run.OpenStores()
	if err != nil || r.Rotation == nil {
		return nil, err // a run that changed nothing needs no store
	}
	if store, ok := run.StoresByRoot(stores)(r.Runtime, r.Rotation.Store); ok {
		return store, nil
	}
	return nil, &failure.Error{
		Code: "no_store", Exit: failure.ExitFailed, Path: r.Rotation.Store, Hint: "name it with --store " + r.Runtime + "=path",
		Err: fmt.Errorf("the store %s of the session was not found", r.Rotation.Store),
	}
}

// Failure adds what a person can do.
func (u *UndoRun) Failure(err error) error {
	var newer *session.NewerError
	switch {
	case errors.As(err, &newer):
		return &failure.Error{Code: "newer", Exit: failure.ExitFailed, Path: newer.Path, Err: fmt.Errorf("not undone: %w", err), Hint: newerHint(newer)}
	case errors.Is(err, compact.ErrNotWithdrawn):
		return &failure.Error{
			Code: "not_withdrawn", Exit: failure.ExitCode(err), Path: u.Request.Receipt.Source.Path, Err: fmt.Errorf("not undone: %w", err),
			Hint: "--keep-memory undoes it and leaves memory as it is; or bring that archive back (sessctl archives prune --undelete ID, or from a backup) and try again",
		}
	case errors.Is(err, session.ErrUnsupported):
		hint := ""
		if archive := u.Request.Receipt.Archive; archive != nil {
			hint = "sessctl restore " + archive.ID + " puts the log back without the runtime's index, with --to FILE into a file elsewhere"
			if workspace.TraitsOf(u.Request.Receipt.Runtime).Irreversible {
				hint = "sessctl restore " + archive.ID + " --to FILE writes the log into a file"
			}
		}
		return &failure.Error{Code: "unsupported", Exit: failure.ExitFailed, Hint: hint, Path: u.Request.Receipt.Source.Path, Err: err}
	}
	return err
}

// Take notes what a plan says.
func (d *UndoDocument) Take(p *compact.UndoPlan) {
	d.Session = selection.NewCompactedSession(p.Result())
	d.Memory.Kept = p.KeepMemory
	switch {
	case p.Undo != nil && p.Undo.From != "":
		d.From = "kept"
	case p.Undo != nil || p.Restore != nil:
		d.From = "archive"
	}
	if p.First != nil && p.Outcome == compact.Planned {
		d.PutAway = append(d.PutAway, selection.CompactedSession{
			Runtime: p.Receipt.Runtime, Agent: p.Receipt.Agent, Session: p.First.Session, Path: p.First.Path, Outcome: compact.Planned, Messages: p.First.Messages,
		})
	}
}

// DescribePutAway says what an undo puts away first, because it is newer.
func DescribePutAway(d UndoDocument) (text string) {
	for _, r := range d.PutAway {
		text += fmt.Sprintf("%s: %s, because it is newer\n", wording.Visible(r.Session), map[bool]string{true: "would be compacted first", false: "compacted first"}[d.DryRun])
	}
	return text
}

// DescribeUndo says what an undo did.
func DescribeUndo(d UndoDocument) string {
	name := d.Session.Key
	if name == "" {
		name = d.Session.Agent + " " + d.Session.Session
	}
	switch d.Session.Outcome {
	case compact.NothingToDo:
		return fmt.Sprintf("%s: nothing to do (%s)\n", wording.Visible(name), wording.Visible(d.Session.Reason))
	case compact.Planned:
		return fmt.Sprintf("%s: would be undone\n  log       %s, %s\n", wording.Visible(name), wording.Visible(d.Session.Path), wording.Bytes(d.Session.Bytes))
	}
	text := fmt.Sprintf("%s: undone\n  log       %s, %s, from the %s\n", wording.Visible(name), wording.Visible(d.Session.Path), wording.Bytes(d.Session.Bytes),
		map[string]string{"kept": "kept log", "archive": "archive", "": "archive"}[d.From])
	memory := wording.Plural(d.Memory.Withdrawn, "record") + " taken out"
	if d.Memory.Kept {
		memory = "left as it is"
	}
	return text + fmt.Sprintf("  memory    %s\n  receipt   %s\n", memory, wording.Visible(d.Session.Receipt))
}

// newerHint says what to do where the runtime has gone on since a compaction.
func newerHint(newer *session.NewerError) string {
	switch {
	case newer.Compacted != "":
		return "undo that first: " + selection.UndoCommand(newer.Compacted) + "; or with --force the older log comes back, and what is newer is kept in archives and in memory"
	case newer.Deleted != "":
		return "with --force the older log comes back, and what is newer stays in its archive and in memory; sessctl restore " + newer.Deleted + " brings back the newer one"
	}
	return "with --force what is newer is archived and remembered, and then the old session comes back"
}
