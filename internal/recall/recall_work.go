package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

// KindWork is the kind of what was done, beside the kinds of facts.
const KindWork = "work"

// rankWork is the rank that a document of what was done names: by words and by
// time.
const rankWork = "work"

// AsksWork says whether the question is what was done, and not what was said.
func (o *Options) AsksWork() bool { return o.Kind == KindWork || o.Names() > 0 }

// Names counts what is asked for by a name.
func (o *Options) Names() (n int) {
	for _, name := range []string{o.File, o.Command, o.Error} {
		if name != "" {
			n++
		}
	}
	return n
}

// Wanted is what is looked for.
func (o *Options) Wanted() string { return cmp.Or(o.File, o.Command, o.Error, o.Query) }

// validateWork checks a question for what was done.
func (o *Options) validateWork() error {
	const hint = "for example: sessctl recall --file importer.go, or sessctl recall --kind work \"npm install\""
	switch {
	case o.Names() > 1:
		return failure.Usage(hint, "only one of --file, --command and --error can be asked for")
	case o.Names() == 1 && strings.TrimSpace(o.Query) != "":
		return failure.Usage("leave it out, or put all words after the option, in quotes", "%q goes with neither --file, --command nor --error", o.Query)
	case o.Names() == 1 && o.Kind != "" && o.Kind != KindWork:
		return failure.Usage(hint, "--kind %s is a kind of facts", o.Kind)
	case o.Asked():
		return failure.Usage("ask the host itself: ssh HOST sessctl recall --kind work ...", "--host asks what was said, not what was done")
	case o.Everywhere:
		return failure.Usage("leave it out: what was done is known on the host that did it", "--everywhere asks what was said, not what was done")
	case strings.TrimSpace(o.Wanted()) == "":
		return failure.Usage(hint, "the question is empty")
	case o.Category != "" || o.Superseded || o.Neighbors > 0 || len(o.Chosen) > 0:
		return failure.Usage("narrow it with --agent, --runtime, --session, --since, --until and --limit", "%s is for what was said, not for what was done", cmp.Or(strings.Join(o.Chosen, ", "), "category, superseded or neighbors"))
	}
	return nil
}

// recallWork finds what was done.
func recallWork(ctx context.Context, run *workspace.Run, store *memory.Store, o Options, q memory.Query) (Document, error) {
	ask := memory.WorkQuery{File: o.File, Command: o.Command, Error: o.Error, Agent: q.Agent, Runtime: q.Runtime, Session: q.Session, Since: q.Since, Until: q.Until, Limit: o.Limit}
	if o.Names() == 0 {
		ask.Text = o.Query
	}
	running := &RunningContexts{}
	if o.Elsewhere {
		if running = RunningSessions(ctx, run); len(running.Refs) > 0 {
			ask.Limit += MostHits // some may be left out
		}
	}
	found, err := store.Work(ctx, ask)
	if err != nil {
		return Document{}, fmt.Errorf("recall: %w", err)
	}
	found.Hits = slices.DeleteFunc(found.Hits, func(h memory.WorkHit) bool { return running.has(ctx, h.Record) })
	doc := newRecallDocument(o.Wanted(), memory.Result{Rank: rankWork})
	for _, h := range found.Hits[:min(len(found.Hits), o.Limit)] {
		doc.Work = append(doc.Work, newWorkHit(h))
		doc.Fit = max(doc.Fit, h.Fit)
	}
	if found.Damaged > 0 {
		doc.Tell(fmt.Sprintf("damaged records that may fit were left out: %d; sessctl memory verify says more", found.Damaged))
	}
	doc.relocate(sourcePath(ctx, run))
	return doc, nil
}

// workHit is something that was done, in `recall --json` (docs/json.md).
type workHit struct {
	audit.WorkAction
	Fit      float64        `json:"fit"`
	Times    int            `json:"times"`    // how often the same was done, this time included
	Failures int            `json:"failures"` // of times
	After    *workAftermath `json:"after"`    // of --error, else null
}

// workAftermath is what followed an error.
type workAftermath struct {
	Success *audit.WorkAction  `json:"success"` // the next time that it went well, or null
	Same    bool               `json:"same"`    // it is the same command; else one with other arguments
	Between []audit.WorkAction `json:"between"` // what was done in between
	More    int                `json:"more"`    // that between leaves out
}

func newWorkHit(h memory.WorkHit) workHit {
	hit := workHit{WorkAction: audit.NewWorkAction(h.Record), Fit: h.Fit, Times: h.Times, Failures: h.Failures}
	if after := h.After; after != nil {
		hit.After = &workAftermath{Same: after.Same, More: after.More, Between: []audit.WorkAction{}}
		for _, r := range after.Between {
			hit.After.Between = append(hit.After.Between, audit.NewWorkAction(r))
		}
		if after.Success != nil {
			success := audit.NewWorkAction(*after.Success)
			hit.After.Success = &success
		}
	}
	return hit
}

// all are the actions of a hit.
func (h *workHit) all() []*audit.WorkAction {
	list := []*audit.WorkAction{&h.WorkAction}
	if h.After != nil {
		for i := range h.After.Between {
			list = append(list, &h.After.Between[i])
		}
		if h.After.Success != nil {
			list = append(list, h.After.Success)
		}
	}
	return list
}

// WorkPrinter writes what was done for people and for models. What a session said
// stands behind "   | ".
type WorkPrinter struct {
	*PassagePrinter
	Source func(audit.WorkAction) string // how the lines are read
	Clean  func(string) string           // what is left of a text of the session; nil for all of it
}

// Hit is a hit behind its number.
func (p WorkPrinter) Hit(h workHit) string {
	var b strings.Builder
	head := []string{wording.Visible(cmp.Or(h.Agent, "?")), workTime(h.WorkAction), outcomeOfWork(h.WorkAction)}
	switch {
	case h.Times > 1 && h.Failures > 0 && h.Failures < h.Times:
		head = append(head, fmt.Sprintf("%d times, %d failed", h.Times, h.Failures))
	case h.Times > 1:
		head = append(head, fmt.Sprintf("%d times", h.Times))
	}
	head = append(head, wording.Visible(h.Runtime)+" session "+wording.Visible(h.Session))
	fmt.Fprintf(&b, "%s%s\n   %s\n", strings.Join(head, "  "), BranchMark(h.Branch), p.Source(h.WorkAction))
	if h.Source.Page != "" {
		fmt.Fprintf(&b, "   %s\n", wording.Visible(h.Source.Page))
	}
	b.WriteString(p.said(h.WorkAction, true) + "\n")
	if h.After != nil {
		p.after(&b, h.After)
	}
	return b.String()
}

// after tells what followed an error.
func (p WorkPrinter) after(b *strings.Builder, after *workAftermath) {
	step := func(x audit.WorkAction) {
		fmt.Fprintf(b, "   %s  %s  %s\n%s\n", workTime(x), outcomeOfWork(x), p.Source(x), p.said(x, false))
	}
	if len(after.Between) > 0 {
		b.WriteString("   then:\n")
	}
	if after.Success != nil && after.More > 0 {
		fmt.Fprintf(b, "   (%d more before these)\n", after.More)
	}
	for _, x := range after.Between {
		step(x)
	}
	switch {
	case after.Success == nil:
		b.WriteString("   the same was not seen to go well later\n")
	case after.Same:
		b.WriteString("   the same went well:\n")
	default:
		b.WriteString("   it went well with other arguments:\n")
	}
	if after.Success != nil {
		step(*after.Success)
	}
}

// said is what the session has of an action.
func (p WorkPrinter) said(x audit.WorkAction, whole bool) string {
	lines := []string{x.Text}
	if x.Kind == "search" && x.Place != "" {
		lines = append(lines, "in "+x.Place)
	}
	if whole {
		lines = append(lines, x.Errors...)
	}
	for i, line := range lines {
		if p.Clean != nil {
			line = p.Clean(line)
		}
		lines[i] = p.PassagePrinter.Hit(line)
	}
	return Indent(strings.Join(lines, "\n"))
}

func workTime(x audit.WorkAction) string {
	return wording.MinuteOf(x.CreatedAt)
}

// outcomeOfWork says what was done and how it ended.
func outcomeOfWork(x audit.WorkAction) string {
	text := wording.Visible(x.Kind)
	switch {
	case x.SpanFrom > 0 && x.SpanTo > x.SpanFrom:
		text += fmt.Sprintf(" of lines %d-%d", x.SpanFrom, x.SpanTo)
	case x.SpanFrom > 0 && x.SpanTo == 0:
		text += fmt.Sprintf(" from line %d", x.SpanFrom)
	case x.SpanFrom > 0:
		text += fmt.Sprintf(" of line %d", x.SpanFrom)
	}
	switch {
	case !x.Answered:
		text += ", no result"
	case x.Exit != nil && *x.Exit != 0:
		text += fmt.Sprintf(", exit %d", *x.Exit)
	case x.Failed:
		text += ", failed"
	case x.Kind == "command":
		text += ", ok"
	}
	return text
}

// nearResult is how many lines apart a call and its result may be to be shown
// together.
const nearResult = 20

// WorkLines are the lines of the call and, if that is near, of its result.
func WorkLines(x audit.WorkAction) (first, last int) {
	first, last = x.Source.FirstLine, x.Source.LastLine
	if x.ResultLastLine > last && x.ResultLastLine-first <= nearResult {
		last = x.ResultLastLine
	}
	return first, last
}

// WorkSource says how the lines of an action are read in a shell.
func WorkSource(x audit.WorkAction) string {
	s := x.Source
	s.FirstLine, s.LastLine = WorkLines(x)
	return source(s)
}
