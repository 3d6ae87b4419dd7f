package selection

import (
	"context"
	"errors"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// ArchivePlan decides what archive would do with sessions.
type ArchivePlan struct {
	App      *workspace.Run
	Remember bool
	Policy   compact.Policy
	Copies   map[LogCopied]bool // that are in the archive
}

// LogCopied is a log as it was when it was archived: by its size and time.
type LogCopied struct {
	Runtime, Agent, Session string
	Bytes, Modified         int64
}

// Row is the plan for a session, as JSON.
func (p ArchivePlan) Row(ctx context.Context, s workspace.Found) ArchiveRow {
	row := ArchiveRow{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Path: s.Path, Bytes: s.Bytes, Outcome: string(compact.Planned)}
	if read, isOutput := Output(s); p.Remember && s.Kind != session.KindDatabase && (isOutput || s.Kind != session.KindOutput) {
		s = read
		plan, err := compact.NewPlan(ctx, s.Adapter, s.Ref, p.Policy, p.App.Now())
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
	row.Unchanged = p.Copies[LogCopied{s.Runtime, s.Agent, s.ID, s.Bytes, s.ModTime.UnixNano()}]
	return row
}

// LogArchive logs what became of a session that was to be archived.
func LogArchive(ctx context.Context, run *workspace.Run, s *workspace.Found, row *ArchiveRow) {
	if run.Log == nil {
		return // there may be 100,000
	}
	workspace.Decided(ctx, run, workspace.Decision{
		Ref: s.Ref, Asked: "archive", Outcome: row.Outcome, Reason: row.Reason,
		Values: []any{"unchanged", row.Unchanged, "modified", s.ModTime},
	})
}
