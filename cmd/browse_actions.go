package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	defer x.app.end()
	x.app.underWay = progress
	x.app.global.Runtime = cmp.Or(r.Target.Runtime, x.app.global.Runtime)
	err := x.run(ctx)
	if x.app.eventsWait {
		x.app.tellEvents(ctx)
	}
	return x, err
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
func (x *browseAction) flags() stepFlags {
	t := x.ask.Target
	flags := stepFlags{}.on("--dry-run", x.dryRun)
	if t.Session == "" && t.Agent == "" {
		return flags.on("--all", true)
	}
	return flags.text("--agent", t.Agent).text("--session", t.Session)
}

// agreed are the sessions that the action may change: of the store and the database
// of the one that was pointed at, and once a plan was accepted those of the plan.
func (x *browseAction) agreed() agreedSessions {
	return agreedSessions{store: x.ask.Target.Store, path: x.ask.Target.Path, names: x.ask.Of}
}

func (x *browseAction) compact(ctx context.Context) error {
	o, err := parseCompact(x.app, x.flags().on("--force", x.ask.Force))
	if err != nil {
		return err
	}
	o.agreed = x.agreed()
	return x.app.pushAfter(ctx, runCompact(ctx, x.app, o), o.DryRun)
}

func (x *browseAction) archive(ctx context.Context) error {
	o, err := parseArchive(x.app, x.flags().on("--remember", true))
	if err != nil {
		return err
	}
	o.agreed = x.agreed()
	return runArchive(ctx, x.app, o)
}

func (x *browseAction) undo(ctx context.Context) error {
	var o compactOptions
	var undo undoOptions
	fs, err := x.app.optionsOf(func(fs *pflag.FlagSet) {
		o.addFlags(fs)
		undo.addFlags(fs)
	}, stepFlags{}.text("--undo", x.ask.Target.Receipt).on("--dry-run", x.dryRun).on("--force", x.ask.Force))
	if err != nil {
		return err
	}
	return runUndo(ctx, x.app, undo, onlyTyped(fs))
}

// onlyTyped are flags of which those that the configuration has filled do not
// count as typed: an undo refuses what says nothing to it.
func onlyTyped(fs *pflag.FlagSet) *pflag.FlagSet {
	typed := []string{"undo", "dry-run", "force", "quiet-period"}
	fs.VisitAll(func(f *pflag.Flag) { f.Changed = f.Changed && slices.Contains(typed, f.Name) })
	return fs
}

// forget forgets only what was shown: the memory may have changed since. Of the
// session that was pointed at that is what memory has under its name.
func (x *browseAction) forget(ctx context.Context) error {
	t := x.ask.Target
	o := forgetOptions{Agent: t.Agent, Session: t.Session, exact: true, DryRun: x.dryRun}
	o.agree = func(doc forgetDocument) error {
		if slices.Equal(x.ask.Of, []string{describeForget(doc)}) {
			return nil
		}
		return errMemoryChanged()
	}
	return runMemoryForget(ctx, x.app, o)
}

// pin pins a session, or lets a pinned one go: what of both, its plan says, and
// only what that has said is done.
func (x *browseAction) pin(ctx context.Context) error {
	t := x.ask.Target
	known, err := x.app.readPinned()
	if err != nil {
		return err
	}
	remove := slices.ContainsFunc(known.Sessions, pinnedSession{Runtime: t.Runtime, Agent: t.Agent, Session: t.Session}.same)
	o := pinOptions{Sessions: []string{t.Session}, Agent: t.Agent, exact: true, Remove: remove, DryRun: x.dryRun}
	o.agree = func(doc pinDocument) error {
		if doc.DryRun = true; slices.Equal(x.ask.Of, []string{describePins(doc)}) {
			return nil
		}
		return &failure{code: "not_confirmed", exit: exitFailed, hint: "look at the plan again", err: errors.New("what is pinned has changed since the plan was shown: nothing was changed")}
	}
	return runPin(ctx, x.app, o)
}

// text is what the command has said.
func (x *browseAction) text() string {
	switch doc := x.doc.(type) {
	case compactDocument:
		return describeCompact(doc)
	case archiveDocument:
		return describeArchive(doc)
	case undoDocument:
		return describePutAway(doc) + describeUndo(doc)
	case forgetDocument:
		if !x.dryRun {
			return fmt.Sprintf("%s forgotten; archives are not touched\n", forgottenOf(doc.RecordsForgotten, doc.ActionsForgotten))
		}
		return describeForget(doc)
	case pinDocument:
		return describePins(doc)
	}
	return ""
}

func describeCompact(doc compactDocument) string {
	var b strings.Builder
	for _, r := range doc.Sessions {
		b.WriteString(describeResult(r))
	}
	return b.String() + doc.leftAlone()
}

// describeArchive says in lines what renderArchives has in a table: first what
// went wrong, and then one line a session.
func describeArchive(doc archiveDocument) string {
	var failed, planned, kept, sessions strings.Builder
	unchanged, count, size := 0, 0, int64(0)
	for _, r := range doc.Archives {
		name := visible(r.Agent + "  " + cmp.Or(r.Key, r.Session))
		switch {
		case r.Unchanged:
			unchanged++
			continue
		case r.Outcome == string(compact.Planned):
			fmt.Fprintf(&planned, "  %s  %s\n", name, formatBytes(r.Bytes))
		case r.Outcome == "archived":
			fmt.Fprintf(&kept, "  %s  archive %s\n", name, r.ID)
		default:
			fmt.Fprintf(&failed, "%s: %s\n", name, visible(strings.TrimSuffix(r.Outcome+": "+r.Reason, ": ")))
			continue
		}
		count, size = count+1, size+r.Bytes
	}
	what := plural(count, "session") + ", " + formatBytes(size) + ": "
	switch {
	case planned.Len() > 0:
		sessions.WriteString(what + "would be archived and remembered; what is there stays as it is\n" + planned.String())
	case kept.Len() > 0:
		sessions.WriteString(what + "archived, read back, and remembered\n" + kept.String())
	}
	if unchanged > 0 {
		fmt.Fprintf(&sessions, "%s archived and remembered already\n", plural(unchanged, "session"))
	}
	return failed.String() + sessions.String()
}

// plan is what the action would do, for a person to accept.
func (x *browseAction) plan(err error) browse.Plan {
	t := x.ask.Target
	p := browse.Plan{Title: "plan: " + string(x.ask.Action) + " " + visible(t.Name), Text: x.text(), Of: x.sessions()}
	changes := x.changes()
	if err == nil || errors.As(err, new(*outcomeError)) {
		p.Question, p.Force = x.question(changes), x.force()
	}
	var f *failure
	if errors.As(err, &f) && f.code == "newer" {
		p.Force = "archive and remember what is newer first, and then undo"
	}
	p.Text += errorLines(err) + noteLines(x.app.notes)
	if p.Text == "" {
		p.Text = "there is nothing to do"
	}
	return p
}

// sessions are those that a plan would change. Of memory and of pins, which know
// more than one session by the same name, it is all that the plan says.
func (x *browseAction) sessions() (names []string) {
	switch doc := x.doc.(type) {
	case forgetDocument:
		return []string{describeForget(doc)}
	case pinDocument:
		return []string{describePins(doc)}
	case compactDocument:
		for _, r := range doc.Sessions {
			if r.Outcome == compact.Planned {
				names = append(names, agreedName(r.Runtime, r.Agent, r.Session, r.Path))
			}
		}
	case archiveDocument:
		for _, r := range doc.Archives {
			if r.Outcome == string(compact.Planned) && !r.Unchanged {
				names = append(names, agreedName(r.Runtime, r.Agent, r.Session, r.Path))
			}
		}
	}
	return names
}

// changes counts what a plan would change.
func (x *browseAction) changes() int {
	switch doc := x.doc.(type) {
	case undoDocument:
		if doc.Session.Outcome == compact.Planned {
			return 1
		}
	case forgetDocument:
		return doc.Records + doc.Actions
	case pinDocument:
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
		return "Forget " + forgottenIn(x.doc) + "? It cannot be undone; the archives stay."
	case browse.Undo:
		return "Undo this compaction?"
	case browse.Pin:
		return "Do this?"
	case browse.Archive:
		return "Archive and remember " + plural(changes, "session") + "?"
	}
	return "Compact " + plural(changes, "session") + "? u undoes it."
}

func forgottenIn(doc any) string {
	d, _ := doc.(forgetDocument)
	return forgottenOf(d.Records, d.Actions)
}

// force says what another plan would do with force, "" for nothing.
func (x *browseAction) force() string {
	doc, ok := x.doc.(compactDocument)
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
	r := browse.Result{Title: string(x.ask.Action) + " " + visible(x.ask.Target.Name), Text: x.text(), Failed: err != nil}
	if ctx.Err() != nil {
		r.Title += ": broken off"
	}
	r.Text += errorLines(err) + noteLines(x.app.notes)
	if r.Text == "" {
		r.Text = "nothing was changed"
	}
	return r
}
