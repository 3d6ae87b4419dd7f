package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	printed := results{app: a, folds: o.All}
	passedOver, err := steps.Compact(ctx, a.Run, o, printed.add)
	return printed.finish(selection.CompactDocument{DryRun: o.DryRun, PassedOver: passedOver}, err)
}

// results are what a run has done so far. For people each is printed when it is
// done, so that nothing of it is lost when the run is stopped.
type results struct {
	*app
	sessions []compact.Result
	folds    bool // sessions that nothing was done with are counted and not printed
	idle     selection.Tally
	err      error // of printing
}

func (r *results) add(result compact.Result) {
	r.sessions = append(r.sessions, result)
	if r.JSON {
		return // one document at the end
	}
	session := selection.NewCompactedSession(result)
	if why := selection.IdleReason(session); why != "" && (r.folds || r.Quiet) {
		r.idle.Add(why, 1)
		return
	}
	if session.Outcome == compact.Failed && r.streams.OutTTY && r.Shows.Terminal {
		session.Reason = "" // it was said beside the results
	}
	if _, err := fmt.Fprint(r.Out, selection.DescribeResult(session)); r.err == nil {
		r.err = err
	}
}

// finish prints what is left to say: the document, or how many sessions nothing was
// done with. A run that has failed before it came to a session says nothing.
func (r *results) finish(doc selection.CompactDocument, err error) error {
	if err != nil && len(r.sessions) == 0 {
		return err
	}
	selection.TellUnknown(r.Run, r.sessions)
	doc.Schema, doc.Sessions, doc.Idle, doc.Notes, doc.Late = 1, selection.NewCompactedSessions(r.sessions), r.idle, r.Notes, r.Late
	if r.JSON {
		return errors.Join(err, r.printJSON(doc))
	}
	if !r.Quiet && r.err == nil {
		_, r.err = fmt.Fprint(r.Out, doc.LeftAlone())
	}
	return errors.Join(err, r.err)
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
	printed := results{app: a}
	if o.DryRun {
		for _, r := range wanted {
			planned := compact.Result{Compaction: r.Compaction}
			planned.Outcome, planned.Reason, planned.Receipt = compact.Planned, "its summary would be made again", ""
			printed.add(planned)
		}
		return printed.finish(selection.CompactDocument{DryRun: true}, steps.NoteSummarizer(a.Run))
	}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{Memory: true, Reason: "compact", Summaries: summaries})
	if err != nil {
		return err
	}
	defer w.Close()
	err = resummarize(ctx, w, a, wanted, &printed)
	return printed.finish(selection.CompactDocument{}, err)
}

func resummarize(ctx context.Context, w *workspace.Workspace, a *app, wanted []compact.Receipt, printed *results) error {
	var outcomes []compact.Outcome
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
		w.Progress.Clear()
		if err != nil && !a.JSON {
			_, _ = fmt.Fprintf(a.Err, "sessctl: %s: %s\n", wording.Visible(r.Path), wording.VisibleText(err.Error()))
		}
		printed.add(result)
		outcomes = append(outcomes, result.Outcome)
	}
	return steps.OutcomeOf(outcomes)
}
