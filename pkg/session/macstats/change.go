package macstats

import (
	"context"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// maxContext bounds the summary that takes a session's place, in bytes, as the
// program does.
const maxContext = 12_000

// opensAnswer is the heading of an answer. Alone it is a log that the program
// reads as one without messages.
const opensAnswer = "## Assistant\n\n"

// PlanRewrite implements [session.Rewriter]: a session that nobody has used for
// half an hour is cleared, another one is replaced by its summary, which the
// program reads as an answer of its own.
func (s *Store) PlanRewrite(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	rotation, err := s.PlanRotation(ctx, request.Ref, request.Snapshot, request.Now)
	if err != nil {
		return session.Shortening{}, err
	}
	plan := session.Shortening{Rotation: rotation, Cut: request.Cut, Summary: request.Summary}
	if plan.Cleared = request.Now.Sub(request.Snapshot.ModTime) > session.MacStatsInactive; plan.Cleared {
		if plan.Fresh != "" {
			plan.After = logfile.FreshProof(rotation)
		}
		return plan, nil
	}
	plan.Fresh = "" // the summary is the newest
	text := summaryMark + "\n\n" + newScan().InBlock(request.Summary.Text)
	plan.Record = opensAnswer + session.CutText(text, maxContext, "\n[summary truncated]") + "\n\n"
	plan.After = logfile.TextProof(plan.Record)
	return plan, nil
}

// Shorten implements [session.Shortener]. The lessons are safe before the
// session goes. They are written only beside the log that the plan has read: a
// link may lead to another store since.
func (s *Store) Shorten(ctx context.Context, plan session.Shortening) error {
	change, err := s.OpenChange(plan)
	if err != nil {
		return err
	}
	defer change.Dir.Close()
	if err := change.Untaken(); err != nil {
		return err
	}
	if err := s.AppendList(s.LessonsFile(session.Ref{}), "lessons", plan.Summary.Lessons); err != nil {
		return change.Begun(err) // an earlier run may have come further
	}
	if err := s.Stepped("lessons"); err != nil {
		return err
	}
	if plan.Cleared {
		return change.StartFresh(ctx)
	}
	return change.ReplaceBy(ctx, plan.Record)
}
