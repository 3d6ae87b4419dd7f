package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/pflag"
)

// kindWork is the kind of what was done, beside the kinds of facts.
const kindWork = "work"

// rankWork is the rank that a document of what was done names: by words and by
// time.
const rankWork = "work"

// asksWork says whether the question is what was done, and not what was said.
func (o *recallOptions) asksWork() bool { return o.Kind == kindWork || o.names() > 0 }

// names counts what is asked for by a name.
func (o *recallOptions) names() (n int) {
	for _, name := range []string{o.File, o.Command, o.Error} {
		if name != "" {
			n++
		}
	}
	return n
}

// wanted is what is looked for.
func (o *recallOptions) wanted() string { return cmp.Or(o.File, o.Command, o.Error, o.Query) }

// validateWork checks a question for what was done.
func (o *recallOptions) validateWork() error {
	const hint = "for example: sessctl recall --file importer.go, or sessctl recall --kind work \"npm install\""
	switch {
	case o.names() > 1:
		return usageError(hint, "only one of --file, --command and --error can be asked for")
	case o.names() == 1 && strings.TrimSpace(o.Query) != "":
		return usageError("leave it out, or put all words after the option, in quotes", "%q goes with neither --file, --command nor --error", o.Query)
	case o.names() == 1 && o.Kind != "" && o.Kind != kindWork:
		return usageError(hint, "--kind %s is a kind of facts", o.Kind)
	case o.asked():
		return usageError("ask the host itself: ssh HOST sessctl recall --kind work ...", "--host asks what was said, not what was done")
	case o.Everywhere:
		return usageError("leave it out: what was done is known on the host that did it", "--everywhere asks what was said, not what was done")
	case strings.TrimSpace(o.wanted()) == "":
		return usageError(hint, "the question is empty")
	case o.Category != "" || o.Superseded || o.Neighbors > 0 || len(o.chosen) > 0:
		return usageError("narrow it with --agent, --runtime, --session, --since, --until and --limit", "%s is for what was said, not for what was done", cmp.Or(strings.Join(o.chosen, ", "), "category, superseded or neighbors"))
	}
	return nil
}

// changedFlags are those of some flags that were typed.
func changedFlags(fs *pflag.FlagSet, names ...string) (typed []string) {
	for _, name := range names {
		if fs.Changed(name) {
			typed = append(typed, "--"+name)
		}
	}
	return typed
}

// recallWork finds what was done.
func (a *invocation) recallWork(ctx context.Context, store *memory.Store, o recallOptions, q memory.Query) (recallDocument, error) {
	ask := memory.WorkQuery{File: o.File, Command: o.Command, Error: o.Error, Agent: q.Agent, Runtime: q.Runtime, Session: q.Session, Since: q.Since, Until: q.Until, Limit: o.Limit}
	if o.names() == 0 {
		ask.Text = o.Query
	}
	running := &contexts{}
	if o.Elsewhere {
		if running = a.runningSessions(ctx); len(running.refs) > 0 {
			ask.Limit += mostHits // some may be left out
		}
	}
	found, err := store.Work(ctx, ask)
	if err != nil {
		return recallDocument{}, fmt.Errorf("recall: %w", err)
	}
	found.Hits = slices.DeleteFunc(found.Hits, func(h memory.WorkHit) bool { return running.has(ctx, h.Record) })
	doc := newRecallDocument(o.wanted(), memory.Result{Rank: rankWork})
	for _, h := range found.Hits[:min(len(found.Hits), o.Limit)] {
		doc.Work = append(doc.Work, newWorkHit(h))
		doc.Fit = max(doc.Fit, h.Fit)
	}
	if found.Damaged > 0 {
		doc.tell(fmt.Sprintf("damaged records that may fit were left out: %d; sessctl memory verify says more", found.Damaged))
	}
	doc.relocate(a.moves())
	return doc, nil
}

// workHit is something that was done, in `recall --json` (docs/json.md).
type workHit struct {
	workAction
	Fit      float64        `json:"fit"`
	Times    int            `json:"times"`    // how often the same was done, this time included
	Failures int            `json:"failures"` // of times
	After    *workAftermath `json:"after"`    // of --error, else null
}

// workAction is one action.
type workAction struct {
	ID        string       `json:"id"`
	Kind      string       `json:"kind"` // command, read, write, edit, delete, search, fetch
	Tool      string       `json:"tool"`
	Text      string       `json:"text"`  // the command line, path, query or address
	Place     string       `json:"place"` // the directory of a command, or what was searched
	SpanFrom  int          `json:"span_from"`
	SpanTo    int          `json:"span_to"`
	Answered  bool         `json:"answered"`
	Failed    bool         `json:"failed"`
	Exit      *int         `json:"exit"` // null if the log does not tell
	Errors    []string     `json:"errors"`
	CreatedAt string       `json:"created_at"` // RFC 3339, UTC
	Runtime   string       `json:"runtime"`
	Agent     string       `json:"agent"`
	Session   string       `json:"session"`
	Branch    string       `json:"branch"`
	Source    recallSource `json:"source"` // of the call
	// Of its result; 0 if there is none.
	ResultFirstLine int `json:"result_first_line"`
	ResultLastLine  int `json:"result_last_line"`
}

// workAftermath is what followed an error.
type workAftermath struct {
	Success *workAction  `json:"success"` // the next time that it went well, or null
	Same    bool         `json:"same"`    // it is the same command; else one with other arguments
	Between []workAction `json:"between"` // what was done in between
	More    int          `json:"more"`    // that between leaves out
}

func newWorkHit(h memory.WorkHit) workHit {
	hit := workHit{workAction: newWorkAction(h.Record), Fit: h.Fit, Times: h.Times, Failures: h.Failures}
	if after := h.After; after != nil {
		hit.After = &workAftermath{Same: after.Same, More: after.More, Between: []workAction{}}
		for _, r := range after.Between {
			hit.After.Between = append(hit.After.Between, newWorkAction(r))
		}
		if after.Success != nil {
			success := newWorkAction(*after.Success)
			hit.After.Success = &success
		}
	}
	return hit
}

func newWorkAction(r memory.Record) workAction {
	a := r.Action
	x := workAction{
		ID: r.ID, Kind: a.Kind, Tool: a.Tool, Text: a.Subject, Place: a.Place, SpanFrom: a.SpanFrom, SpanTo: a.SpanTo,
		Answered: a.Answered, Failed: a.Failed, Errors: []string{}, CreatedAt: time.UnixMilli(r.CreatedAt).UTC().Format(time.RFC3339),
		Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Branch: r.Branch, Source: newRecallSource(r),
		ResultFirstLine: a.ResultFirstLine, ResultLastLine: a.ResultLastLine,
	}
	if a.HasExit {
		x.Exit = &a.Exit
	}
	if a.Errors != "" {
		x.Errors = strings.Split(a.Errors, "\n")
	}
	return x
}

// all are the actions of a hit.
func (h *workHit) all() []*workAction {
	list := []*workAction{&h.workAction}
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

// renderWork prints what was done, in the shape of renderRecall.
func renderWork(a *app, o recallOptions, doc recallDocument) error {
	if a.JSON {
		if err := a.printJSON(doc); err != nil || len(doc.Work) > 0 {
			return err
		}
		return &outcomeError{exit: exitFailed}
	}
	if doc.Notice != "" {
		a.notice(note{Message: doc.Notice})
	}
	if len(doc.Work) == 0 {
		a.notice(nothingFound(recallDocument{Query: doc.Query}))
		return &outcomeError{exit: exitFailed}
	}
	p := workPrinter{passagePrinter: newPassagePrinter(a, doc.Query, o.Full), source: workSource}
	var b strings.Builder
	b.WriteString(session.RecallBegin + "\n\n")
	for i, h := range doc.Work {
		fmt.Fprintf(&b, "%d. %s\n", i+1, p.hit(h))
	}
	b.WriteString(session.RecallEnd + "\n")
	_, err := a.Out.Write([]byte(b.String()))
	return err
}

// workPrinter writes what was done for people and for models. What a session said
// stands behind "   | ".
type workPrinter struct {
	*passagePrinter
	source func(workAction) string // how the lines are read
	clean  func(string) string     // what is left of a text of the session; nil for all of it
}

// hit is a hit behind its number.
func (p workPrinter) hit(h workHit) string {
	var b strings.Builder
	head := []string{visible(cmp.Or(h.Agent, "?")), workTime(h.workAction), outcomeOfWork(h.workAction)}
	switch {
	case h.Times > 1 && h.Failures > 0 && h.Failures < h.Times:
		head = append(head, fmt.Sprintf("%d times, %d failed", h.Times, h.Failures))
	case h.Times > 1:
		head = append(head, fmt.Sprintf("%d times", h.Times))
	}
	head = append(head, visible(h.Runtime)+" session "+visible(h.Session))
	if h.Branch == session.Abandoned.String() {
		head = append(head, "abandoned branch")
	}
	fmt.Fprintf(&b, "%s\n   %s\n", strings.Join(head, "  "), p.source(h.workAction))
	if h.Source.Page != "" {
		fmt.Fprintf(&b, "   %s\n", visible(h.Source.Page))
	}
	b.WriteString(p.said(h.workAction, true) + "\n")
	if h.After != nil {
		p.after(&b, h.After)
	}
	return b.String()
}

// after tells what followed an error.
func (p workPrinter) after(b *strings.Builder, after *workAftermath) {
	step := func(x workAction) {
		fmt.Fprintf(b, "   %s  %s  %s\n%s\n", workTime(x), outcomeOfWork(x), p.source(x), p.said(x, false))
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
func (p workPrinter) said(x workAction, whole bool) string {
	lines := []string{x.Text}
	if x.Kind == "search" && x.Place != "" {
		lines = append(lines, "in "+x.Place)
	}
	if whole {
		lines = append(lines, x.Errors...)
	}
	for i, line := range lines {
		if p.clean != nil {
			line = p.clean(line)
		}
		lines[i] = p.passagePrinter.hit(line)
	}
	return indent(strings.Join(lines, "\n"))
}

func workTime(x workAction) string {
	return strings.Replace(x.CreatedAt[:len("2006-01-02T15:04")], "T", " ", 1)
}

// outcomeOfWork says what was done and how it ended.
func outcomeOfWork(x workAction) string {
	text := visible(x.Kind)
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

// workLines are the lines of the call and, if that is near, of its result.
func workLines(x workAction) (first, last int) {
	first, last = x.Source.FirstLine, x.Source.LastLine
	if x.ResultLastLine > last && x.ResultLastLine-first <= nearResult {
		last = x.ResultLastLine
	}
	return first, last
}

// workSource says how the lines of an action are read in a shell.
func workSource(x workAction) string {
	s := x.Source
	s.FirstLine, s.LastLine = workLines(x)
	return source(s)
}
