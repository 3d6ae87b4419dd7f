package macstats

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// maxContext bounds the summary that takes a session's place, in bytes, as the
// program does.
const maxContext = 12_000

// PlanRewrite implements [session.Rewriter]: a session that nobody has used for
// half an hour is cleared, another one is replaced by its summary, which the
// program reads as an answer of its own.
func (s *Store) PlanRewrite(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	rotation, err := s.PlanRotation(ctx, request.Ref, request.Snapshot, request.Now)
	if err != nil {
		return session.Shortening{}, err
	}
	plan := session.Shortening{Rotation: rotation, Cut: request.Cut, Summary: request.Summary}
	if plan.Cleared = request.Now.Sub(request.Snapshot.ModTime) > inactive; !plan.Cleared {
		plan.Record = "## Assistant\n\n" + session.CutText(summaryMark+"\n\n"+inBlock(request.Summary.Text), maxContext, "\n[summary truncated]") + "\n\n"
		plan.After, err = logfile.Proof(func(w io.Writer) error { return rewrite(w, plan) })
	}
	return plan, err
}

// inBlock keeps the lines of a text from opening a block of their own.
func inBlock(text string) string {
	var safe strings.Builder
	for line := range strings.Lines(text) {
		if roleOf([]byte(line)) != 0 {
			safe.WriteByte('\\')
			line = strings.TrimLeft(line, " \t")
		}
		safe.WriteString(line)
	}
	return safe.String()
}

func rewrite(w io.Writer, plan session.Shortening) error {
	_, err := io.WriteString(w, plan.Record)
	return err
}

// Shorten implements [session.Shortener]. The lessons are safe before the
// session goes.
func (s *Store) Shorten(ctx context.Context, plan session.Shortening) error {
	change, err := s.OpenChange(plan)
	if err != nil {
		return err
	}
	defer change.Dir.Close()
	if err := logfile.AppendList(s.LessonsFile(session.Ref{}), "lessons", plan.Summary.Lessons); err != nil {
		return change.Begun(err) // an earlier run may have come further
	}
	if err := s.Stepped("lessons"); err != nil {
		return err
	}
	if plan.Cleared {
		return change.MoveAside(ctx)
	}
	return change.Replace(ctx, func(w io.Writer, _ *os.File) error { return rewrite(w, plan) })
}
