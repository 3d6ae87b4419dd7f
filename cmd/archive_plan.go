package cmd

import (
	"context"
	"errors"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// planArchive is archive --dry-run: it says which sessions would be archived,
// and which are already.
func planArchive(ctx context.Context, a *app, o archiveOptions, sessions []found) error {
	store, err := a.openArchive()
	if err == nil && o.Remember {
		err = a.foretellLostMemory(ctx)
	}
	if err != nil {
		return err
	}
	entries, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	p := archivePlan{app: a.invocation, remember: o.Remember, copies: map[logCopied]bool{}, policy: a.recoveryPolicy()}
	for _, e := range entries {
		p.copies[logCopied{e.Runtime, e.Agent, e.Session, e.Bytes, e.SourceModTime.UnixNano()}] = true
	}
	var end func()
	p.policy.LeaveSessions = true
	p.policy.Known, end = a.knownForPlan(ctx)
	defer end()
	doc := archiveDocument{Schema: 1, DryRun: true, Archives: []archiveRow{}, folds: true}
	for _, s := range sessions {
		if s.Bytes == 0 && s.Kind != session.KindDatabase {
			continue
		}
		doc.Archives = append(doc.Archives, p.row(ctx, s))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := renderArchives(a, doc); err != nil {
		return err
	}
	return archiveOutcome(doc.Archives)
}

// archivePlan decides what archive would do with sessions.
type archivePlan struct {
	app      *invocation
	remember bool
	policy   compact.Policy
	copies   map[logCopied]bool // that are in the archive
}

// logCopied is a log as it was when it was archived: by its size and time.
type logCopied struct {
	runtime, agent, session string
	bytes, modified         int64
}

func (p archivePlan) row(ctx context.Context, s found) archiveRow {
	row := archiveRow{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Path: s.Path, Bytes: s.Bytes, Outcome: string(compact.Planned)}
	if s.Kind == session.KindDatabase {
		row.Outcome, row.Reason = "failed", s.Reason
		return row
	}
	if read, isOutput := s.output(); p.remember && (isOutput || s.Kind != session.KindOutput) {
		s = read
		plan, err := compact.NewPlan(ctx, s.store, s.Ref, p.policy, p.app.now())
		switch {
		case err != nil && !errors.Is(err, session.ErrUnknownFormat):
			row.Outcome, row.Reason = "failed", err.Error()
			return row
		case err == nil && plan.Outcome == compact.Busy:
			row.Outcome, row.Reason = "busy", plan.Result().Reason
			return row
		case err == nil && (plan.Outcome == compact.Planned || plan.Result().Unchanged):
			row.Unchanged = plan.Result().Unchanged
			row.Remembered = row.Unchanged
			return row
		}
	}
	row.Unchanged = p.copies[logCopied{s.Runtime, s.Agent, s.ID, s.Bytes, s.ModTime.UnixNano()}]
	return row
}
