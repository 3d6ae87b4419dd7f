package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/tui"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/browse"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/spf13/pflag"
)

// browseAction is what a key of the browser does: a command, carried out by the
// code of that command.
type browseAction struct {
	app    *app
	ask    browse.Request
	dryRun bool
	doc    any // the document of the command
}

// perform plans an action, or carries it out. What it says is the document of the
// command, as its text.
func (b *browser) perform(ctx context.Context, r browse.Request, progress func(what string, done, total int64)) (*browseAction, error) {
	x := &browseAction{ask: r, dryRun: r.Do == browse.MakePlan}
	x.app = b.piece(func(doc any) { x.doc = doc })
	defer workspace.End(x.app.Run)
	x.app.UnderWay = progress
	x.app.Global.Runtime = cmp.Or(r.Target.Runtime, x.app.Global.Runtime)
	err := x.run(ctx)
	if x.app.EventsWait {
		workspace.TellEvents(ctx, x.app.Run)
		workspace.KeepHeads(ctx, x.app.Run, false)
	}
	return x, err
}

// plan says what a request would do, to each session that it is about.
func (b *browser) plan(ctx context.Context, r browse.Request, progress func(what string, done, total int64)) browse.Plan {
	if len(r.Parts) > 0 {
		return tui.PlanParts(r, func(one browse.Request) browse.Plan { return b.plan(ctx, one, progress) })
	}
	x, err := b.perform(ctx, r, progress)
	return x.plan(err)
}

// carry does what was agreed to.
func (b *browser) carry(ctx context.Context, r browse.Request, progress func(what string, done, total int64)) browse.Result {
	var result browse.Result
	if len(r.Parts) > 0 {
		result = tui.CarryParts(r, func() bool { return ctx.Err() != nil }, func(one browse.Request) browse.Result { return b.carry(ctx, one, progress) })
	} else {
		x, err := b.perform(ctx, r, progress)
		result = x.result(ctx, err)
	}
	result.When = b.app.Now().Local().Format("15:04")
	return result
}

func (x *browseAction) run(ctx context.Context) error {
	switch x.ask.Action {
	case browse.Compact:
		return x.compact(ctx)
	case browse.Archive:
		return x.archive(ctx)
	case browse.Undo:
		return x.undo(ctx)
	case browse.Forget:
		return x.forget(ctx)
	case browse.Pin:
		return x.pin(ctx)
	}
	return fmt.Errorf("unknown action %q", x.ask.Action)
}

// flags are those that choose what the action is about.
func (x *browseAction) flags() steps.StepFlags {
	t := x.ask.Target
	flags := steps.StepFlags{}.On("--dry-run", x.dryRun)
	if t.Session == "" && t.Agent == "" {
		return flags.On("--all", true)
	}
	return flags.Text("--agent", t.Agent).Text("--session", t.Session)
}

// agreed are the sessions that the action may change: of the store and the database
// of the one that was pointed at, and once a plan was accepted those of the plan.
func (x *browseAction) agreed() selection.AgreedSessions {
	return selection.AgreedSessions{Store: x.ask.Target.Store, Path: x.ask.Target.Path, Names: x.ask.Of}
}

func (x *browseAction) compact(ctx context.Context) error {
	o, err := parseCompact(x.app, x.flags().On("--force", x.ask.Force))
	if err != nil {
		return err
	}
	o.Agreed = x.agreed()
	return pushAfter(ctx, x.app, runCompact(ctx, x.app, o), o.DryRun)
}

func (x *browseAction) archive(ctx context.Context) error {
	o, err := parseArchive(x.app, x.flags().On("--remember", true))
	if err != nil {
		return err
	}
	o.Agreed = x.agreed()
	return runArchive(ctx, x.app, o)
}

func (x *browseAction) undo(ctx context.Context) error {
	o := removal.UndoOptions{Receipt: x.ask.Target.Receipt}
	_, err := optionsOf(x.app, func(fs *pflag.FlagSet) { addUndoFlags(&o, fs) }, steps.StepFlags{}.On("--dry-run", x.dryRun).On("--force", x.ask.Force))
	if err != nil {
		return err
	}
	return runUndo(ctx, x.app, o)
}

// forget forgets only what was shown: the memory may have changed since. Of the
// session that was pointed at that is what memory has under its name.
func (x *browseAction) forget(ctx context.Context) error {
	t := x.ask.Target
	o := recall.ForgetOptions{Agent: agentset.Set(t.Agent), Session: t.Session, Exact: true, DryRun: x.dryRun}
	o.Agree = func(doc recall.ForgetDocument) error {
		if slices.Equal(x.ask.Of, []string{recall.DescribeForget(doc)}) {
			return nil
		}
		return recall.ErrMemoryChanged()
	}
	return runMemoryForget(ctx, x.app, o)
}

// pin pins a session, or lets a pinned one go: what of both, its plan says, and
// only what that has said is done.
func (x *browseAction) pin(ctx context.Context) error {
	t := x.ask.Target
	known, err := removal.ReadPinned(ctx, x.app.Run)
	if err != nil {
		return err
	}
	remove := slices.ContainsFunc(known.Sessions, removal.PinnedSession{Runtime: t.Runtime, Agent: t.Agent, Session: t.Session}.Same)
	o := removal.PinOptions{Sessions: []string{t.Session}, Agent: agentset.Set(t.Agent), Exact: true, Remove: remove, DryRun: x.dryRun}
	o.Agree = func(doc removal.PinDocument) error {
		if doc.DryRun = true; slices.Equal(x.ask.Of, []string{removal.DescribePins(doc)}) {
			return nil
		}
		return &failure.Error{Code: "not_confirmed", Exit: failure.ExitFailed, Hint: "look at the plan again", Err: errors.New("what is pinned has changed since the plan was shown: nothing was changed")}
	}
	return runPin(ctx, x.app, o)
}

// text is what the command has said.
func (x *browseAction) text() string {
	switch doc := x.doc.(type) {
	case selection.CompactDocument:
		return tui.DescribeCompact(doc)
	case steps.ArchiveDocument:
		return tui.DescribeArchive(doc)
	case removal.UndoDocument:
		return removal.DescribePutAway(doc) + removal.DescribeUndo(doc)
	case recall.ForgetDocument:
		if !x.dryRun {
			return fmt.Sprintf("%s forgotten; archives are not touched\n", recall.ForgottenOf(doc.RecordsForgotten, doc.ActionsForgotten))
		}
		return recall.DescribeForget(doc)
	case removal.PinDocument:
		return removal.DescribePins(doc)
	}
	return ""
}

// plan is what the action would do, for a person to accept.
func (x *browseAction) plan(err error) browse.Plan {
	t := x.ask.Target
	p := browse.Plan{Title: "plan: " + string(x.ask.Action) + " " + wording.Visible(t.Name), Text: x.text(), Of: x.sessions()}
	changes := x.changes()
	if err == nil || errors.As(err, new(*failure.Outcome)) {
		p.Question, p.Force = x.question(changes), x.force()
	}
	var f *failure.Error
	if errors.As(err, &f) && f.Code == "newer" {
		p.Force = "archive and remember what is newer first, and then undo"
	}
	p.Text += tui.ErrorLines(err) + tui.NoteLines(x.app.Notes)
	if p.Text == "" {
		p.Text = "there is nothing to do"
	}
	return p
}

// sessions are those that a plan would change. Of memory and of pins, which know
// more than one session by the same name, it is all that the plan says.
func (x *browseAction) sessions() (names []string) {
	switch doc := x.doc.(type) {
	case recall.ForgetDocument:
		return []string{recall.DescribeForget(doc)}
	case removal.PinDocument:
		return []string{removal.DescribePins(doc)}
	case selection.CompactDocument:
		for _, r := range doc.Sessions {
			if r.Outcome == compact.Planned {
				names = append(names, selection.AgreedName(r.Runtime, r.Agent, r.Session, r.Path))
			}
		}
	case steps.ArchiveDocument:
		for _, r := range doc.Archives {
			if r.Outcome == string(compact.Planned) && !r.Unchanged {
				names = append(names, selection.AgreedName(r.Runtime, r.Agent, r.Session, r.Path))
			}
		}
	}
	return names
}

// changes counts what a plan would change.
func (x *browseAction) changes() int {
	switch doc := x.doc.(type) {
	case removal.UndoDocument:
		if doc.Session.Outcome == compact.Planned {
			return 1
		}
	case recall.ForgetDocument:
		return doc.Records + doc.Actions
	case removal.PinDocument:
		return doc.Changed
	}
	return len(x.sessions())
}

func (x *browseAction) question(changes int) string {
	if changes == 0 {
		return ""
	}
	switch x.ask.Action {
	case browse.Forget:
		return "Forget " + tui.ForgottenIn(x.doc) + "? It cannot be undone; the archives stay."
	case browse.Undo:
		return "Undo this compaction?"
	case browse.Pin:
		return "Do this?"
	case browse.Archive:
		return "Archive and remember " + wording.Plural(changes, "session") + "?"
	}
	return "Compact " + wording.Plural(changes, "session") + "? u undoes it."
}

// force says what another plan would do with force, "" for nothing.
func (x *browseAction) force() string {
	doc, ok := x.doc.(selection.CompactDocument)
	if !ok || x.ask.Force {
		return ""
	}
	for _, r := range doc.Sessions {
		if r.Outcome == compact.BelowThreshold {
			return "plan it although it is below the threshold"
		}
	}
	return ""
}

// result is what the action has done.
func (x *browseAction) result(ctx context.Context, err error) browse.Result {
	r := browse.Result{Title: string(x.ask.Action) + " " + wording.Visible(x.ask.Target.Name), Text: x.text(), Failed: err != nil}
	if ctx.Err() != nil {
		r.Title += ": broken off"
	}
	r.Text += tui.ErrorLines(err) + tui.NoteLines(x.app.Notes)
	if r.Text == "" {
		r.Text = "nothing was changed"
	}
	return r
}
