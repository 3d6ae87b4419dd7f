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
	"github.com/spf13/pflag"
)

// browseAction is what a key of the browser does: a command, carried out by the
// code of that command.
type browseAction struct {
	tui.Said
	app *app
}

// perform plans an action, or carries it out. What it says is the document of the
// command, as its text.
func (b *browser) perform(ctx context.Context, r browse.Request, progress func(what string, done, total int64)) (*browseAction, error) {
	x := &browseAction{Said: tui.Said{Ask: r}}
	x.app = b.piece(func(doc any) { x.Doc = doc })
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
	if len(r.Parts) > 0 && r.Action != browse.Delete {
		return tui.PlanParts(r, func(one browse.Request) browse.Plan { return b.plan(ctx, one, progress) })
	}
	x, err := b.perform(ctx, r, progress)
	return x.plan(err)
}

// carry does what was agreed to.
func (b *browser) carry(ctx context.Context, r browse.Request, progress func(what string, done, total int64)) browse.Result {
	var result browse.Result
	if len(r.Parts) > 0 && r.Action != browse.Delete {
		result = tui.CarryParts(r, func() bool { return ctx.Err() != nil }, func(one browse.Request) browse.Result { return b.carry(ctx, one, progress) })
	} else {
		x, err := b.perform(ctx, r, progress)
		result = x.result(ctx, err)
	}
	result.When = b.app.Now().Local().Format("15:04")
	return result
}

func (x *browseAction) run(ctx context.Context) error {
	switch x.Ask.Action {
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
	case browse.Continue:
		return x.goOn(ctx)
	case browse.Delete, browse.Empty:
		o, err := x.CleanOptions()
		if err != nil {
			return err
		}
		return runClean(ctx, x.app, o)
	}
	return fmt.Errorf("unknown action %q", x.Ask.Action)
}

// flags are those that choose what the action is about.
func (x *browseAction) flags() steps.StepFlags {
	t := x.Ask.Target
	flags := steps.StepFlags{}.On("--dry-run", x.DryRun())
	if t.Session == "" && t.Agent == "" {
		return flags.On("--all", true)
	}
	return flags.Text("--agent", t.Agent).Text("--session", t.Session)
}

// pointed are the sessions that the action may change: of the store and the database
// of the one that was pointed at, and once a plan was accepted those of the plan.
func (x *browseAction) pointed() selection.AgreedSessions {
	return selection.AgreedSessions{Store: x.Ask.Target.Store, Path: x.Ask.Target.Path, Names: x.Ask.Of}
}

func (x *browseAction) compact(ctx context.Context) error {
	o, err := parseCompact(x.app, x.flags().On("--force", x.Ask.Force))
	if err != nil {
		return err
	}
	o.Agreed = x.pointed()
	return pushAfter(ctx, x.app, runCompact(ctx, x.app, o), o.DryRun)
}

func (x *browseAction) archive(ctx context.Context) error {
	o, err := parseArchive(x.app, x.flags().On("--remember", true))
	if err != nil {
		return err
	}
	o.Agreed = x.pointed()
	return runArchive(ctx, x.app, o)
}

func (x *browseAction) undo(ctx context.Context) error {
	if x.Ask.Target.Trashed {
		return runCleanUndelete(ctx, x.app, removal.CleanOptions{Undelete: x.Ask.Target.Session, DryRun: x.DryRun()})
	}
	o := removal.UndoOptions{Receipt: x.Ask.Target.Receipt}
	_, err := optionsOf(x.app, func(fs *pflag.FlagSet) { addUndoFlags(&o, fs) }, steps.StepFlags{}.On("--dry-run", x.DryRun()).On("--force", x.Ask.Force))
	if err != nil {
		return err
	}
	return runUndo(ctx, x.app, o)
}

// forget forgets only what was shown: the memory may have changed since. Of the
// session that was pointed at that is what memory has under its name.
func (x *browseAction) forget(ctx context.Context) error {
	t := x.Ask.Target
	o := recall.ForgetOptions{Agent: agentset.Set(t.Agent), Session: t.Session, Exact: true, DryRun: x.DryRun()}
	o.Agree = func(doc recall.ForgetDocument) error {
		if slices.Equal(x.Ask.Of, []string{recall.DescribeForget(doc)}) {
			return nil
		}
		return recall.ErrMemoryChanged()
	}
	return runMemoryForget(ctx, x.app, o)
}

// pin pins a session, or lets a pinned one go: what of both, its plan says, and
// only what that has said is done.
func (x *browseAction) pin(ctx context.Context) error {
	t := x.Ask.Target
	known, err := removal.ReadPinned(ctx, x.app.Run)
	if err != nil {
		return err
	}
	remove := slices.ContainsFunc(known.Sessions, removal.PinnedSession{Runtime: t.Runtime, Agent: t.Agent, Session: t.Session}.Same)
	o := removal.PinOptions{Sessions: []string{t.Session}, Agent: agentset.Set(t.Agent), Exact: true, Remove: remove, DryRun: x.DryRun()}
	o.Agree = func(doc removal.PinDocument) error {
		if doc.DryRun = true; slices.Equal(x.Ask.Of, []string{removal.DescribePins(doc)}) {
			return nil
		}
		return &failure.Error{Code: "not_confirmed", Exit: failure.ExitFailed, Hint: "look at the plan again", Err: errors.New("what is pinned has changed since the plan was shown: nothing was changed")}
	}
	return runPin(ctx, x.app, o)
}

// goOn begins a session of another runtime with what was said in this one.
func (x *browseAction) goOn(ctx context.Context) error {
	t := x.Ask.Target
	o := steps.ContinueOptions{Session: t.Session, Of: selection.Scope{Agent: agentset.Set(t.Agent)}}
	_, err := optionsOf(x.app, func(fs *pflag.FlagSet) { addContinueFlags(&o, fs) }, steps.StepFlags{}.Text("--in", t.Into).On("--dry-run", x.DryRun()))
	if err != nil {
		return err
	}
	doc, err := steps.Continue(ctx, x.app.Run, o)
	if err == nil {
		x.Doc = doc
	}
	return err
}

// plan is what the action would do, for a person to accept.
func (x *browseAction) plan(err error) browse.Plan {
	t := x.Ask.Target
	p := browse.Plan{Title: "plan: " + string(x.Ask.Action) + " " + wording.Visible(t.Name), Text: x.Text(), Of: x.Agreed()}
	if err == nil || errors.As(err, new(*failure.Outcome)) {
		p.Question, p.Force = x.Question(), x.Force()
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

// result is what the action has done.
func (x *browseAction) result(ctx context.Context, err error) browse.Result {
	r := browse.Result{Title: string(x.Ask.Action) + " " + wording.Visible(x.Ask.Target.Name), Text: x.Text(), Failed: err != nil}
	if ctx.Err() != nil {
		r.Title += ": broken off"
	}
	r.Text += tui.ErrorLines(err) + tui.NoteLines(x.app.Notes)
	if r.Text == "" {
		r.Text = "nothing was changed"
	}
	return r
}
