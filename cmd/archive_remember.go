package cmd

import (
	"context"
	"errors"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// keeper archives sessions, and remembers them if it was asked for.
type keeper struct {
	*invocation
	*workspace
	remember bool
	policy   compact.Policy
	there    map[string]bool // ids of the archives before the run
	done     []compact.Result
	lacking  int // texts that were pasted into prompts of this run and are gone
}

func newKeeper(ctx context.Context, a *invocation, w *workspace, o archiveOptions) (*keeper, error) {
	k := &keeper{invocation: a, workspace: w, remember: o.Remember, there: map[string]bool{}}
	entries, err := w.archives.List(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		k.there[e.ID] = true
	}
	if !k.remember {
		return k, nil
	}
	k.policy = a.recoveryPolicy()
	k.policy.LeaveSessions = true
	k.policy.Known, err = a.known(ctx, w.memory, w.archives)
	return k, err
}

// keep archives one session, and remembers what can be read of it.
func (k *keeper) keep(ctx context.Context, s found) archiveRow {
	row := k.keepOne(ctx, s)
	if row.Outcome == "archived" && !row.Unchanged {
		k.lacking += s.Lacking
	}
	return row
}

func (k *keeper) keepOne(ctx context.Context, s found) archiveRow {
	read, isOutput := s.output()
	if k.remember && s.Kind != session.KindDatabase && (isOutput || s.Kind != session.KindOutput) {
		if row, ok := k.rememberOne(ctx, read); ok {
			return row
		}
	}
	row, err := archiveOne(ctx, k.invocation, k.archives, s)
	if row.Outcome == "failed" {
		k.invocation.failed(s.Path, err)
	}
	row.Unchanged = row.Outcome == "archived" && k.there[row.ID]
	return row
}

// rememberOne is false for a log that says nothing, or that cannot be read as
// one: it is only archived.
func (k *keeper) rememberOne(ctx context.Context, s found) (archiveRow, bool) {
	policy := k.policy
	policy.SkipSummary = policy.SkipSummary || s.Kind == session.KindOutput || s.Kind == session.KindPrompts
	result, err := compactOne(ctx, k.invocation, k.workspace, s, policy)
	k.progress.clear()
	switch {
	case errors.Is(err, session.ErrUnknownFormat):
		k.notice(note{Path: s.Path, Message: "archived, not remembered: " + err.Error()})
		return archiveRow{}, false
	case err == nil && result.Archive == nil:
		return archiveRow{}, false
	}
	if err != nil && ctx.Err() == nil {
		k.invocation.failed(s.Path, err)
	}
	k.done = append(k.done, result)
	row := archiveRow{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Path: s.Path, Bytes: s.Bytes}
	if result.Archive != nil {
		if e, err := k.archives.Get(ctx, result.Archive.ID); err == nil {
			row = newArchiveRow(e)
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
	return row, true
}

// end embeds what an earlier run could not.
func (k *keeper) end(ctx context.Context) error {
	if k.lacking > 0 {
		k.notice(note{Message: "texts that were pasted into prompts and are gone: " + formatCount(int64(k.lacking)) + "; the prompts are archived without them"})
	}
	if !k.remember {
		return nil
	}
	k.tellUnknown(k.done)
	return k.embedWaiting(ctx, k.done)
}

// folded tells how many archives were there already.
func (d archiveDocument) folded() string {
	var t tally
	for _, r := range d.Archives {
		switch {
		case d.folds && r.Unchanged && r.Remembered:
			t.add("unchanged", 1)
		case d.folds && r.Unchanged:
			t.add("archived before", 1)
		}
	}
	if t.total() == 0 {
		return ""
	}
	return t.nothingToDo()
}
