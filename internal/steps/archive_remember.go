package steps

import (
	"context"
	"errors"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// Keeper archives sessions, and remembers them if it was asked for.
type Keeper struct {
	*workspace.Run
	*workspace.Workspace
	remember bool
	policy   compact.Policy
	there    map[string]bool // ids of the archives before the run
	done     []compact.Result
	lacking  int // texts that were pasted into prompts of this run and are gone
}

// NewKeeper prepares to remember what was archived.
func NewKeeper(ctx context.Context, run *workspace.Run, w *workspace.Workspace, o ArchiveOptions) (*Keeper, error) {
	k := &Keeper{Run: run, Workspace: w, remember: o.Remember, there: map[string]bool{}}
	entries, err := w.Archives.List(ctx, archive.Filter{})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	for _, e := range entries { // of a catalogue that cannot be read every session says so
		k.there[e.ID] = true
	}
	if !k.remember {
		return k, nil
	}
	k.policy = run.RecoveryPolicy()
	k.policy.LeaveSessions = true
	k.policy.Known, err = selection.KnownOrNone(ctx, run, w)
	return k, err
}

// Keep archives one session, and remembers what can be read of it.
func (k *Keeper) Keep(ctx context.Context, s workspace.Found) selection.ArchiveRow {
	row := k.keepOne(ctx, s)
	if row.Outcome == "archived" && !row.Unchanged {
		k.lacking += s.Lacking
	}
	return row
}

func (k *Keeper) keepOne(ctx context.Context, s workspace.Found) selection.ArchiveRow {
	var unremembered error
	read, isOutput := selection.Output(s)
	if k.remember && s.Kind != session.KindDatabase && (isOutput || s.Kind != session.KindOutput) {
		row, err := k.rememberOne(ctx, read)
		if row.Outcome != "" {
			return row
		}
		unremembered = err
	}
	row, err := archiveOne(ctx, k.Run, k.Archives, s)
	switch {
	case row.Outcome == "failed":
		k.Run.Failed(s.Path, err)
	case unremembered != nil && row.Outcome == "archived":
		k.tellUnremembered(s, &row, unremembered)
	}
	row.Unchanged = row.Outcome == "archived" && k.there[row.ID]
	selection.LogArchive(ctx, k.Run, s, row)
	return row
}

// tellUnremembered tells that a session is archived and not remembered. Where memory
// itself fails it is asked no more.
func (k *Keeper) tellUnremembered(s workspace.Found, row *selection.ArchiveRow, err error) {
	row.Outcome, row.Reason = "archived", err.Error()
	if k.LoseMemory(k.Run, err) {
		k.remember = false
		return
	}
	if !errors.As(err, new(*archive.UnenteredError)) { // that was told, once for all
		k.Run.Failed(s.Path, err)
	}
	k.Run.Incomplete++
}

// rememberOne archives and remembers a session. The row has no outcome where the
// session is still to be archived, because it says nothing, it cannot be read as a
// log, or because of the error.
func (k *Keeper) rememberOne(ctx context.Context, s workspace.Found) (selection.ArchiveRow, error) {
	policy := k.policy
	policy.SkipSummary = policy.SkipSummary || s.Kind == session.KindOutput || s.Kind == session.KindPrompts
	result, err := CompactOne(ctx, k.Run, k.Workspace, s, policy)
	k.Progress.Clear()
	switch {
	case errors.Is(err, session.ErrUnknownFormat):
		k.Notice(workspace.Note{Path: s.Path, Message: "archived, not remembered: " + err.Error()})
		return selection.ArchiveRow{}, nil
	case result.Archive == nil && result.Outcome != compact.Busy && ctx.Err() == nil:
		return selection.ArchiveRow{}, err
	}
	k.done = append(k.done, result)
	row := k.rowOf(ctx, s, result)
	if err != nil && ctx.Err() == nil {
		k.tellUnremembered(s, &row, err)
	}
	return row, err
}

// rowOf is what became of a session that is archived, or busy.
func (k *Keeper) rowOf(ctx context.Context, s workspace.Found, result compact.Result) selection.ArchiveRow {
	row := selection.ArchiveRow{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Path: s.Path, Bytes: s.Bytes}
	if result.Archive != nil {
		if e, err := k.Archives.Get(ctx, result.Archive.ID); err == nil {
			row = NewArchiveRow(e)
		}
	}
	switch row.Outcome = "archived"; result.Outcome {
	case compact.Busy:
		row.Outcome, row.Reason = "busy", result.Reason
	case compact.Failed:
		row.Outcome, row.Reason = "failed", result.Reason
	}
	row.Unchanged, row.Chunks, row.Receipt = result.Unchanged, result.Chunks, result.Receipt
	row.Remembered = row.Outcome == "archived"
	return row
}

// End embeds what an earlier run could not.
func (k *Keeper) End(ctx context.Context) error {
	if k.lacking > 0 {
		k.Notice(workspace.Note{Message: "texts that were pasted into prompts and are gone: " + wording.Count(int64(k.lacking)) + "; the prompts are archived without them"})
	}
	if !k.remember {
		return nil
	}
	selection.TellUnknown(k.Run, k.done)
	return selection.EmbedWaiting(ctx, k.Workspace, k.done)
}

// Folded tells how many archives were there already.
func (d ArchiveDocument) Folded() string {
	var t selection.Tally
	for _, r := range d.Archives {
		switch {
		case d.Folds && r.Unchanged && r.Remembered:
			t.Add("unchanged", 1)
		case d.Folds && r.Unchanged:
			t.Add("archived before", 1)
		}
	}
	if t.Total() == 0 {
		return ""
	}
	return t.NothingToDo()
}
