package macstats

import (
	"context"
	"io"
	"os"
	"strings"
	"unicode/utf8"

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
	plan.Cleared = request.Now.Sub(request.Snapshot.ModTime) > inactive
	if !plan.Cleared {
		plan.Record = "## Assistant\n\n" + bounded(summaryMark+"\n\n"+inBlock(request.Summary.Text)) + "\n\n"
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

// bounded cuts a text behind the last line or sentence that fits; one that has
// neither behind its last whole character.
func bounded(text string) string {
	if len(text) <= maxContext {
		return text
	}
	const marker = "\n[summary truncated]"
	fits := strings.ToValidUTF8(text[:maxContext-len(marker)], "")
	end := len(fits)
	if at := strings.LastIndexAny(fits, "\n.!?。！？"); at > len(fits)/2 {
		_, size := utf8.DecodeRuneInString(fits[at:])
		end = at + size
	}
	return strings.TrimRight(fits[:end], "\n ") + marker
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
	if err := s.learn(plan); err != nil {
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

// learn appends the lessons of a plan that the list does not have yet.
func (s *Store) learn(plan session.Shortening) error {
	lessons := plan.Summary.Lessons
	if len(lessons) == 0 {
		return nil
	}
	return logfile.AppendText(s.LessonsFile(session.Ref{}), "lessons", func(known string) string { return newLessons(known, lessons) })
}

// newLessons is what is to be appended to a list: a bullet for each lesson that
// it does not have, on a line of its own.
func newLessons(known string, lessons []string) string {
	has := map[string]bool{}
	for line := range strings.Lines(known) {
		has[normal(line)] = true
	}
	var add strings.Builder
	for _, lesson := range lessons {
		lesson = strings.Join(strings.Fields(lesson), " ")
		if key := normal(lesson); key != "" && !has[key] {
			has[key] = true
			add.WriteString("- " + lesson + "\n")
		}
	}
	if add.Len() > 0 && known != "" && !strings.HasSuffix(known, "\n") {
		return "\n" + add.String()
	}
	return add.String()
}

// normal is a lesson as it is compared: without its bullet, its case, the
// white space and the mark at its end.
func normal(line string) string {
	line = strings.TrimLeft(strings.TrimSpace(line), "-*• ")
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(line), " ")), ".!")
}
