package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addCompactFlags(o *selection.CompactOptions, fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "compact the main session of this `agent` or runtime/agent")
	fs.BoolVar(&o.All, "all", false, "compact the main session of every agent, and every session of the runtimes whose agents have no main one (docs/compact.md lists them)")
	fs.StringVar(&o.Session, "session", "", "compact this session (`id` or key) instead of the main one")
	fs.Var(&o.Threshold, "threshold", "compact sessions of at least this many `tokens`, or of this share of their window, such as 80% (default 150000,80%)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVar(&o.Force, "force", false, "compact below the threshold too")
	fs.BoolVar(&o.Clear, "clear", false, "clear the session: archive it and start fresh (the same as --force --strategy rotate)")
	fs.StringVar(&o.Strategy, "strategy", "", "how to make the session small: rotate, overlay, rewrite, trim (default: the runtime's own)")
	fs.BoolVar(&o.SkipSummary, "skip-summary", false, "store no summary")
	fs.BoolVar(&o.SkipArchive, "skip-archive", false, "remember only: no archive, and the session is not changed")
	fs.Int64Var(&o.KeepRecentTokens, "keep-recent-tokens", 0, "keep at least this many recent `tokens` in the session (overlay and rewrite; default 20000 with overlay, the runtime's own rule with rewrite)")
	fs.StringVar(&o.Focus, "focus", "", "what the summary should concentrate on, as `text`")
	fs.DurationVar(&o.Quiet, "quiet-period", 0, "skip sessions that changed within this `duration` (default 1m)")
	fs.StringVar(&o.Gateway, "gateway", "", "whether a running OpenClaw gateway is asked to start the session fresh: `auto`, never or require")
	fs.IntVar(&o.MaxCalls, "max-llm-calls", 0, "ask models at most this many `times` in this run (default 50)")
	fs.BoolVar(&o.Resummarize, "resummarize", false, "rewrite summaries for which the model was not available (with --force: every built-in summary)")
	fromConfig(fs, "max-llm-calls", "llm.max_calls")
	fromConfig(fs, "gateway", "compaction.gateway")
	fromConfig(fs, "threshold", "compaction.threshold")
	fromConfig(fs, "strategy", "compaction.strategy")
	fromConfig(fs, "quiet-period", "compaction.quiet_period")
	fromConfig(fs, "keep-recent-tokens", "compaction.keep_recent_tokens")
}

func newCompactCommand(a *app) *cobra.Command {
	var o selection.CompactOptions
	var undo removal.UndoOptions
	var shrink removal.ShrinkOptions
	c := &cobra.Command{
		Use:   "compact",
		Short: "Archive a session, remember it, and make its context small",
		Long: `Put a verified copy of a session's log in the archive, cut it into searchable
memory, write a summary, and make the session small: a new session begins
(rotate), or a summary record is appended after which the runtime sends only the
summary and the recent messages (overlay), or the older turns are replaced by a
summary (rewrite), or what the runtime does not need to go on is left out of its
log (trim: the context stays). Each runtime has its default. A session that
another program may be writing is skipped: exit code 75, try again later.

Sessions below the threshold are skipped too. --agent means the agent's main
session; sessions of cron jobs, groups and threads are only compacted with
--session.

--shrink says what a database of OpenCode, Kilo or Hermes would be without old
sessions, without the superseded part of its journal, and without free pages;
with --shrink=sessions,journal,vacuum that is archived, remembered, checked, and
then removed, while the program does not run; of Hermes by its own program.
Without vacuum the file stays as large as it is, and its free pages are used again.
--shrink=deleted,vacuum does so with what Cline's own delete left in the
databases of its hub. archive restore brings it back.

--undo reverses a compaction: the log is byte for byte what it was, the runtime
continues it, and memory drops what the compaction stored. --resummarize writes
the summaries of archived sessions again that a model should have written;
sessions are not changed.
` + exitHelp,
		Example: `  sessctl compact --agent coordinator --dry-run
  sessctl compact --agent coordinator
  sessctl compact --all --threshold 120000
  sessctl compact --agent coordinator --skip-archive
  sessctl compact --shrink
  sessctl compact --shrink=sessions,journal,vacuum --older-than 30d`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runCompactOf(c, a, o, undo, shrink) },
	}
	addCompactFlags(&o, c.Flags())
	addUndoFlags(&undo, c.Flags())
	addShrinkFlags(&shrink, c.Flags())
	return c
}

// runCompactOf runs what the flags of compact ask for.
func runCompactOf(c *cobra.Command, a *app, o selection.CompactOptions, undo removal.UndoOptions, shrink removal.ShrinkOptions) error {
	o.ThresholdAsked, o.KeepAsked = c.Flags().Changed("threshold"), c.Flags().Changed("keep-recent-tokens")
	if shrinkAsked(&shrink, c) {
		shrink.DryRun, shrink.Quiet = o.DryRun, o.Quiet
		if err := validateShrink(&shrink, c.Flags()); err != nil {
			return err
		}
		return runShrink(c.Context(), a, shrink)
	}
	if undoAsked(&undo, c) {
		return runUndo(c.Context(), a, undo, c.Flags())
	}
	if o.Resummarize {
		if err := checkResummarize(o, c.Flags()); err != nil {
			return err
		}
		return runResummarize(c.Context(), a, o)
	}
	if o.Clear && !c.Flags().Changed("strategy") {
		o.Strategy, o.Force = string(session.StrategyRotate), true
	}
	if err := steps.ValidateCompact(&o); err != nil {
		return err
	}
	return pushAfter(c.Context(), a, runCompact(c.Context(), a, o), o.DryRun)
}

func runCompact(ctx context.Context, a *app, o selection.CompactOptions) error {
	if err := a.EndMoves(ctx, o.DryRun); err != nil {
		return err
	}
	chosen, err := selection.Choose(ctx, a.Run, o)
	if err != nil && !o.DryRun {
		chosen, err = steps.ChooseSettled(ctx, a.Run, o, err)
	}
	if err != nil {
		return err
	}
	a.Config.LLM.MaxCalls = o.MaxCalls
	summaries, err := workspace.Summarizers(a.Run, o.Focus)
	if err := errors.Join(err, workspace.CheckEvents(&a.Run.Settings)); err != nil {
		return err
	}
	if o.DryRun {
		return dryRun(ctx, a, o, chosen)
	}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{
		Memory: true, Spare: true, Reason: "compact", Summaries: summaries, Recover: &workspace.Recovery{Sessions: chosen.All.Sessions, Policy: steps.Recovery(&o, a.Run)},
	})
	if err != nil {
		return err
	}
	defer w.Close()
	if w.Outdated() { // a rotation that was half done is done now, or another sessctl has made one
		if chosen, err = selection.Choose(ctx, a.Run, o); err != nil {
			return err
		}
	}
	policy := o.Policy(a.Run)
	if policy.Known, err = selection.KnownOrNone(ctx, a.Run, w); err != nil {
		return err
	}
	all := results{app: a, progress: w.Progress, folds: o.All}
	if o.All {
		all.passed = chosen.PassedOver(ctx, a.Run)
	}
	all.add(chosen.None...)
	err = all.compactAll(ctx, w, chosen.Targets, policy)
	done := all.sessions[len(chosen.None):]
	steps.Announce(ctx, a.Run, o, done)
	selection.WarnOfPurge(ctx, a.Run, audit.Meant(chosen, o))
	return w.Ends(finish(a, all.document(), err), done...)
}

// finish prints what there is to say and decides the exit code.
func finish(a *app, doc selection.CompactDocument, err error) error {
	if err != nil {
		return errors.Join(err, renderUnlessEmpty(a, doc))
	}
	if err := renderCompact(a, doc); err != nil {
		return err
	}
	return steps.OutcomeOf(doc.Outcomes())
}

func renderUnlessEmpty(a *app, doc selection.CompactDocument) error {
	if len(doc.Sessions) == 0 {
		return nil
	}
	return renderCompact(a, doc)
}

// results are what a run has done so far. For people each is printed when it is
// done, so that nothing of it is lost when the run is stopped.
type results struct {
	*app
	progress *workspace.Progress
	sessions []compact.Result
	printed  int  // of sessions
	folds    bool // sessions that nothing was done with are counted and not printed
	idle     selection.Tally
	passed   []selection.PassedOver
	err      error
}

func (r *results) add(done ...compact.Result) {
	r.sessions = append(r.sessions, done...)
	if r.JSON {
		return // one document at the end
	}
	r.progress.Clear()
	for _, result := range selection.NewCompactedSessions(r.sessions[r.printed:]) {
		if why := selection.IdleReason(result); why != "" && (r.folds || r.Quiet) {
			r.idle.Add(why, 1)
			r.printed++
			continue
		}
		if result.Outcome == compact.Failed && r.streams.OutTTY && r.Shows.Terminal {
			result.Reason = "" // it was said beside the results
		}
		if _, err := fmt.Fprint(r.Out, steps.DescribeResult(result)); r.err == nil {
			r.err = err
		}
		r.printed++
	}
}

func (r *results) document() selection.CompactDocument {
	selection.TellUnknown(r.app.Run, r.sessions)
	return selection.CompactDocument{Schema: 1, Sessions: selection.NewCompactedSessions(r.sessions), Printed: r.printed, Idle: r.idle, PassedOver: r.passed}
}

// compactAll compacts one session after the other.
func (r *results) compactAll(ctx context.Context, w *workspace.Workspace, targets []workspace.Found, policy compact.Policy) error {
	for i, t := range targets {
		w.Progress.Of(i+1, len(targets))
		w.Progress.Show(t.Ref, removal.StageRead, 0, 1)
		result, err := steps.CompactOne(ctx, r.app.Run, w, t, policy)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.Progress.Clear()
		if err != nil && !w.LoseMemory(r.app.Run, err) {
			r.app.Failed(t.Path, err)
		}
		r.add(result)
		trimmed := result.Outcome == compact.Compacted && result.Strategy == session.StrategyTrim
		if result.Outcome == compact.Partial || result.Unchanged || trimmed {
			r.add(steps.CompactFamily(ctx, r.app.Run, w, t, policy)...)
		}
	}
	return errors.Join(ctx.Err(), r.err, selection.EmbedWaiting(ctx, w, r.sessions))
}

// dryRun says what would be done, and where texts would be sent.
func dryRun(ctx context.Context, a *app, o selection.CompactOptions, chosen selection.Selection) error {
	policy := o.Policy(a.Run)
	var end func()
	policy.Known, end = selection.KnownForPlan(ctx, a.Run)
	defer end()
	planned, err := steps.PlanAll(ctx, a.Run, chosen.Targets, policy)
	err = errors.Join(err, workspace.ForetellLostMemory(ctx, a.Run))
	selection.WarnOfPurge(ctx, a.Run, audit.Meant(chosen, o))
	if !policy.SkipSummary {
		err = errors.Join(err, steps.NoteSummarizer(a.Run))
	}
	all := results{app: a, progress: workspace.NewProgress(a.Run), folds: o.All}
	all.add(append(chosen.None, planned...)...)
	doc := all.document()
	doc.DryRun = true
	if o.All {
		doc.PassedOver = chosen.PassedOver(ctx, a.Run)
	}
	return finish(a, doc, errors.Join(err, workspace.NoteEmbedder(a.Run)))
}

// renderCompact prints the results: the document, or a few lines a session.
func renderCompact(a *app, doc selection.CompactDocument) error {
	doc.Notes, doc.Late = a.Notes, a.Late
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, r := range doc.Sessions[doc.Printed:] {
		if _, err := fmt.Fprint(a.Out, steps.DescribeResult(r)); err != nil {
			return err
		}
	}
	if a.Quiet {
		return nil
	}
	_, err := fmt.Fprint(a.Out, doc.LeftAlone())
	return err
}

// checkResummarize refuses the flags of compact that say nothing to summaries
// that are made again.
func checkResummarize(o selection.CompactOptions, fs *pflag.FlagSet) error {
	var err error
	fs.Visit(func(f *pflag.Flag) {
		known := []string{"resummarize", "agent", "all", "session", "dry-run", "force", "focus", "max-llm-calls"}
		if !slices.Contains(known, f.Name) && !isGlobal(f.Name) && err == nil {
			err = failure.Usage("it works on what is archived", "--%s does not go with --resummarize", f.Name)
		}
	})
	if err == nil && o.Agent == "" && o.Session == "" && !o.All {
		err = failure.Usage("sessctl compact --resummarize --agent NAME, or --all", "which summaries should be written again?")
	}
	return err
}

// runResummarize is compact --resummarize: summaries that a model was to write
// and did not are written now.
func runResummarize(ctx context.Context, a *app, o selection.CompactOptions) error {
	a.Config.LLM.MaxCalls = o.MaxCalls
	if a.Config.Summarize.Provider == summarize.ProviderExtractive {
		return failure.Usage("set summarize.provider, see docs/summaries.md", "no model is configured that could write summaries")
	}
	summaries, err := workspace.Summarizers(a.Run, o.Focus)
	if err != nil {
		return err
	}
	receipts, unreadable, err := a.Receipts().Examine()
	if err != nil {
		return err
	}
	for _, u := range unreadable {
		a.Notice(workspace.Note{Path: u.Path, Message: u.Err.Error(), Hint: "sessctl doctor says more"})
	}
	if err := steps.ResolveSession(ctx, a.Run, &o, receipts); err != nil {
		return err
	}
	wanted := slices.DeleteFunc(compact.Upgradable(receipts, o.Force), func(r compact.Receipt) bool { return !steps.Wants(&a.Run.Settings, o, r) })
	if o.DryRun {
		doc := selection.CompactDocument{Schema: 1, DryRun: true, Sessions: []selection.CompactedSession{}}
		for _, r := range wanted {
			planned := selection.NewCompactedSession(compact.Result{Compaction: r.Compaction})
			planned.Outcome, planned.Reason, planned.Receipt = compact.Planned, "its summary would be made again", ""
			doc.Sessions = append(doc.Sessions, planned)
		}
		return finish(a, doc, steps.NoteSummarizer(a.Run))
	}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{Memory: true, Reason: "compact", Summaries: summaries})
	if err != nil {
		return err
	}
	defer w.Close()
	all := results{app: a, progress: w.Progress}
	err = resummarize(ctx, w, a, wanted, &all)
	return finish(a, all.document(), err)
}

func resummarize(ctx context.Context, w *workspace.Workspace, a *app, wanted []compact.Receipt, all *results) error {
	for i, r := range wanted {
		w.Progress.Of(i+1, len(wanted))
		store := workspace.ReaderOf(&a.Run.Settings, r.Runtime)
		if store == nil {
			return fmt.Errorf("no runtime %q is known", r.Runtime)
		}
		result, err := w.Compactor.Resummarize(ctx, store, r, compact.Policy{Pins: a.Pins})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !a.JSON {
			w.Progress.Clear()
			_, _ = fmt.Fprintf(a.Err, "sessctl: %s: %s\n", wording.Visible(r.Path), wording.VisibleText(err.Error()))
		}
		all.add(result)
	}
	return all.err
}
