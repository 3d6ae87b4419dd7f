package macstats

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// maxContext bounds the summary that takes a session's place, in bytes, as the
// program does.
const maxContext = 12_000

// PlanRotation implements [session.Rotator]: the log is moved aside. In the place
// of one that the program resumes, with an older one of the same conversation
// behind it, comes a log in which nothing is said: without it the program would
// go on with that older one.
func (s *Store) PlanRotation(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	r, err := s.RotatingLogs.PlanRotation(ctx, ref, snap, now)
	if err != nil || !ref.Primary {
		return r, err
	}
	older, err := s.wouldResume(ctx, ref)
	if older {
		r.Fresh = saysNothing
	}
	return r, err
}

// saysNothing is a log that the program reads as one without messages: a
// heading, and no text below it.
const saysNothing = "## Assistant\n\n"

// wouldResume reports whether the program would go on with something older if the
// session that it resumes were not there. A log that cannot be read counts: the
// program may read it.
func (s *Store) wouldResume(ctx context.Context, without session.Ref) (bool, error) {
	listing, err := s.List(ctx)
	if err != nil {
		return false, err
	}
	var next *session.Ref
	for i, ref := range listing.Refs {
		if ref.Kind != session.KindLive || ref.Key != without.Key || ref.Path == without.Path {
			continue
		}
		if next == nil || next.ModTime.Before(ref.ModTime) {
			next = &listing.Refs[i]
		}
	}
	if next == nil {
		return false, nil
	}
	tail, err := s.Tail(ctx, *next)
	return err != nil || tail.Messages > 0, ctx.Err()
}

// PlanRewrite implements [session.Rewriter]: a session that nobody has used for
// half an hour is cleared, another one is replaced by its summary, which the
// program reads as an answer of its own.
func (s *Store) PlanRewrite(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	rotation, err := s.PlanRotation(ctx, request.Ref, request.Snapshot, request.Now)
	if err != nil {
		return session.Shortening{}, err
	}
	plan := session.Shortening{Rotation: rotation, Cut: request.Cut, Summary: request.Summary}
	if plan.Cleared = request.Now.Sub(request.Snapshot.ModTime) > inactive; plan.Cleared {
		if plan.Fresh != "" {
			plan.After = logfile.FreshProof(rotation)
		}
	} else {
		plan.Fresh = "" // the summary is the newest
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
		return change.StartFresh(ctx)
	}
	return change.Replace(ctx, func(w io.Writer, _ *os.File) error { return rewrite(w, plan) })
}
