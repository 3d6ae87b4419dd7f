package cmd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// undoOptions are the flags of compact --undo that compact has not.
type undoOptions struct {
	Receipt    string
	KeepMemory bool
}

func (o *undoOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Receipt, "undo", "", "reverse the compaction of this `receipt` (id, its start or end, or path)")
	fs.BoolVar(&o.KeepMemory, "keep-memory", false, "with --undo: leave in memory what the compaction stored")
}

func (o *undoOptions) asked(c *cobra.Command) bool {
	return c.Flags().Changed("undo") || c.Flags().Changed("keep-memory")
}

// validate refuses the flags of compact that say nothing to an undo.
func (o *undoOptions) validate(fs *pflag.FlagSet) error {
	if o.Receipt == "" {
		return usageError("sessctl compact --undo RECEIPT --keep-memory", "--keep-memory goes with --undo RECEIPT only")
	}
	var err error
	fs.Visit(func(f *pflag.Flag) {
		known := []string{"undo", "keep-memory", "dry-run", "force", "quiet-period"}
		if !slices.Contains(known, f.Name) && !isGlobal(f.Name) && err == nil {
			err = usageError("the receipt says which session is meant", "--%s does not go with --undo", f.Name)
		}
	})
	return err
}

// isGlobal reports whether a flag is one of the root's.
func isGlobal(name string) bool {
	a := app{invocation: &invocation{}}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	a.addGlobalFlags(fs)
	return fs.Lookup(name) != nil
}

// undoDocument is `compact --undo --json`.
type undoDocument struct {
	Schema  int              `json:"schema"`
	DryRun  bool             `json:"dry_run"`
	Undoes  string           `json:"undoes"` // id of the compaction's receipt
	Session compact.Result   `json:"session"`
	From    string           `json:"from"`     // what the log comes from: "kept" or "archive"
	PutAway []compact.Result `json:"put_away"` // newer sessions that were compacted first
	Memory  undoneMemory     `json:"memory"`
	Notes   []note           `json:"notes"`
}

type undoneMemory struct {
	Kept      bool `json:"kept"`
	Withdrawn int  `json:"withdrawn"` // records
}

// undoRun is one undo on its way.
type undoRun struct {
	*invocation
	compactor *compact.Compactor
	store     session.Store
	request   compact.UndoRequest
	doc       undoDocument
}

func runUndo(ctx context.Context, a *app, o undoOptions, fs *pflag.FlagSet) error {
	if err := o.validate(fs); err != nil {
		return err
	}
	u, err := a.newUndo(o, fs)
	if err != nil {
		return err
	}
	r := u.request.Receipt
	of := session.Ref{Runtime: r.Runtime, Agent: r.Agent, ID: r.Session, Path: r.Source.Path}
	w, err := a.openWorkspace(ctx, mode{
		dryRun: u.doc.DryRun, memory: true, reason: "undo", undoing: r.ID, recover: a.recoveryOf(of, u.request.Policy.Quiet),
	})
	if err != nil {
		return err
	}
	defer w.close()
	u.compactor = w.compactor
	plan, err := u.plan(ctx)
	if err != nil {
		return u.failure(err)
	}
	u.doc.take(plan)
	u.noteLessons(plan)
	if !u.doc.DryRun && plan.Outcome == compact.Planned {
		receipt, err := w.compactor.Undo(ctx, u.store, plan)
		if err != nil {
			return u.failure(err)
		}
		u.doc.Session, u.doc.Memory.Withdrawn = receipt.Result, receipt.Undo.Withdrawn
		if err := a.undoAttached(ctx, w, r); err != nil {
			return err
		}
	}
	return a.renderUndo(u.doc)
}

// newUndo finds the receipt that is meant and the store of its session.
func (a *app) newUndo(o undoOptions, fs *pflag.FlagSet) (*undoRun, error) {
	receipt, err := a.findReceipt(o.Receipt)
	if err != nil {
		return nil, err
	}
	dryRun, _ := fs.GetBool("dry-run")
	force, _ := fs.GetBool("force")
	quiet, _ := fs.GetDuration("quiet-period")
	u := &undoRun{invocation: a.invocation, request: compact.UndoRequest{
		Receipt: receipt, Force: force, KeepMemory: o.KeepMemory, Policy: compact.Policy{Threshold: compact.DefaultThreshold, Quiet: quiet, OutputLimit: a.outputLimit(), Pins: a.pins},
	}}
	u.doc = undoDocument{Schema: 1, DryRun: dryRun, Undoes: receipt.ID, PutAway: []compact.Result{}}
	u.store, err = a.storeOf(receipt)
	return u, err
}

// noteLessons says that an undo leaves the lessons of a session where they are.
func (u *undoRun) noteLessons(p *compact.UndoPlan) {
	learner := session.CapabilitiesOf(u.store).Learner
	if learner == nil || p.Outcome != compact.Planned || p.Receipt.Lessons == 0 {
		return
	}
	ref := session.Ref{Runtime: p.Receipt.Runtime, Agent: p.Receipt.Agent, ID: p.Receipt.Session}
	u.notice(note{
		Path: learner.LessonsFile(ref), Message: "what the compaction has learned stays here and in memory: other sessions may have read it since",
		Hint: "delete by hand what should not stay",
	})
}

// plan makes a plan that needs nothing to be put away any more, or in a dry run
// the first one. What was put away may have left another newer session.
func (u *undoRun) plan(ctx context.Context) (*compact.UndoPlan, error) {
	const tries = 4
	for range tries {
		plan, err := u.compactor.PlanUndo(ctx, u.store, u.request)
		if err != nil || plan.First == nil || u.doc.DryRun {
			return plan, err
		}
		result, err := u.compactor.PutAwayFirst(ctx, u.store, plan)
		if err != nil {
			return nil, err
		}
		u.doc.PutAway = append(u.doc.PutAway, result)
	}
	return nil, errors.New("new sessions keep taking its place")
}

// storeOf finds the store that a receipt is about.
func (a *invocation) storeOf(r compact.Receipt) (session.Store, error) {
	stores, err := a.openStores()
	if err != nil || r.Rotation == nil {
		return nil, err // a run that changed nothing needs no store
	}
	if store, ok := storesByRoot(stores)(r.Runtime, r.Rotation.Store); ok {
		return store, nil
	}
	return nil, &failure{
		code: "no_store", exit: exitFailed, path: r.Rotation.Store, hint: "name it with --store " + r.Runtime + "=path",
		err: fmt.Errorf("the store %s of the session was not found", r.Rotation.Store),
	}
}

// failure adds what a person can do.
func (u *undoRun) failure(err error) error {
	var newer *session.NewerError
	switch {
	case errors.As(err, &newer):
		return &failure{code: "newer", exit: exitFailed, path: newer.Path, err: fmt.Errorf("not undone: %w", err), hint: newerHint(newer)}
	case errors.Is(err, compact.ErrNotWithdrawn):
		return &failure{
			code: "not_withdrawn", exit: exitCode(err), path: u.request.Receipt.Source.Path, err: fmt.Errorf("not undone: %w", err),
			hint: "--keep-memory undoes it and leaves memory as it is; or bring that archive back (sessctl archive prune --undelete ID, or from a backup) and try again",
		}
	case errors.Is(err, session.ErrUnsupported):
		hint := ""
		if archive := u.request.Receipt.Archive; archive != nil {
			hint = "sessctl archive restore " + archive.ID + " puts the log back without the runtime's index, with --to FILE into a file elsewhere"
		}
		return &failure{code: "unsupported", exit: exitFailed, hint: hint, path: u.request.Receipt.Source.Path, err: err}
	}
	return err
}

// Withdraw implements compact.Withdrawer.
func (m memoryAdapter) Withdraw(ctx context.Context, ref session.Ref, from []string, summary bool) (int, error) {
	w := memory.Withdrawal{
		Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, From: from,
		Categories: []string{compact.CategoryHistory, compact.CategorySummary},
	}
	if summary {
		w.Regardless = []string{compact.CategorySummary}
	}
	return m.store.Withdraw(ctx, w)
}

// WithdrawAlone implements compact.Withdrawer.
func (m memoryAdapter) WithdrawAlone(ctx context.Context, ref session.Ref, made compact.Made) (int, error) {
	source := memory.Source{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID}
	var ids [3]map[string]bool
	for i, records := range []iter.Seq2[compact.Record, error]{made.Own, made.Beside, made.Others} {
		ids[i] = map[string]bool{}
		for r, err := range records {
			if err != nil {
				return 0, err
			}
			ids[i][memoryRecord(source, r).ID] = true
		}
	}
	return m.store.WithdrawAlone(ctx, source, memory.Made{Own: ids[0], Beside: ids[1], Others: ids[2]})
}

// take notes what a plan says.
func (d *undoDocument) take(p *compact.UndoPlan) {
	r := p.Receipt
	d.Session = compact.Result{
		Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key, Path: r.Source.Path, Outcome: p.Outcome, Reason: p.Reason,
		Strategy: r.Strategy, TokensAfter: r.TokensBefore, TokenSource: r.TokenSource, Bytes: r.Source.Bytes, Archive: r.Archive,
	}
	d.Memory.Kept = p.KeepMemory
	switch {
	case p.Undo != nil && p.Undo.From != "":
		d.From = "kept"
	case p.Undo != nil || p.Restore != nil:
		d.From = "archive"
	}
	if p.First != nil && p.Outcome == compact.Planned {
		d.PutAway = append(d.PutAway, compact.Result{
			Runtime: r.Runtime, Agent: r.Agent, Session: p.First.Session, Path: p.First.Path, Outcome: compact.Planned, Messages: p.First.Messages,
		})
	}
}

// renderUndo prints the document, or a few lines.
func (a *app) renderUndo(d undoDocument) error {
	d.Notes = a.notes
	if a.JSON {
		return a.printJSON(d)
	}
	_, err := fmt.Fprint(a.Out, describePutAway(d)+describeUndo(d))
	return err
}

// describePutAway says what an undo puts away first, because it is newer.
func describePutAway(d undoDocument) (text string) {
	for _, r := range d.PutAway {
		text += fmt.Sprintf("%s: %s, because it is newer\n", visible(r.Session), map[bool]string{true: "would be compacted first", false: "compacted first"}[d.DryRun])
	}
	return text
}

func describeUndo(d undoDocument) string {
	name := d.Session.Key
	if name == "" {
		name = d.Session.Agent + " " + d.Session.Session
	}
	switch d.Session.Outcome {
	case compact.NothingToDo:
		return fmt.Sprintf("%s: nothing to do (%s)\n", visible(name), visible(d.Session.Reason))
	case compact.Planned:
		return fmt.Sprintf("%s: would be undone\n  log       %s, %s\n", visible(name), visible(d.Session.Path), formatBytes(d.Session.Bytes))
	}
	text := fmt.Sprintf("%s: undone\n  log       %s, %s, from the %s\n", visible(name), visible(d.Session.Path), formatBytes(d.Session.Bytes),
		map[string]string{"kept": "kept log", "archive": "archive", "": "archive"}[d.From])
	memory := plural(d.Memory.Withdrawn, "record") + " taken out"
	if d.Memory.Kept {
		memory = "left as it is"
	}
	return text + fmt.Sprintf("  memory    %s\n  receipt   %s\n", memory, visible(d.Session.Receipt))
}

// newerHint says what to do where the runtime has gone on since a compaction.
func newerHint(newer *session.NewerError) string {
	switch {
	case newer.Compacted != "":
		return "undo that first: " + undoCommand(newer.Compacted) + "; or with --force the older log comes back, and what is newer is kept in archives and in memory"
	case newer.Deleted != "":
		return "with --force the older log comes back, and what is newer stays in its archive and in memory; sessctl archive restore " + newer.Deleted + " brings back the newer one"
	}
	return "with --force what is newer is archived and remembered, and then the old session comes back"
}
