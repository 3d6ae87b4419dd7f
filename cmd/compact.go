package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addCompactFlags(o *selection.CompactOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "compact the main session of this `agent` or runtime/agent")
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
	fromConfig(fs, "max-llm-calls", "llm.max_calls")
	fromConfig(fs, "gateway", "compaction.gateway")
	fromConfig(fs, "threshold", "compaction.threshold")
	fromConfig(fs, "strategy", "compaction.strategy")
	fromConfig(fs, "quiet-period", "compaction.quiet_period")
	fromConfig(fs, "keep-recent-tokens", "compaction.keep_recent_tokens")
}

func newCompactCommand(a *app) *cobra.Command {
	var o selection.CompactOptions
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

undo takes a compaction back, shrink makes databases of runtimes smaller, and
resummarize writes summaries again.`,
		Example: `  sessctl compact --agent coordinator --dry-run
  sessctl compact --agent coordinator
  sessctl compact --all --threshold 120000
  sessctl compact --agent coordinator --skip-archive`,
		RunE: func(c *cobra.Command, _ []string) error { return runCompactOf(c, a, o) },
	}
	addCompactFlags(&o, c.Flags())
	return c
}

// runCompactOf runs what the flags of compact ask for.
func runCompactOf(c *cobra.Command, a *app, o selection.CompactOptions) error {
	o.ThresholdAsked, o.KeepAsked = c.Flags().Changed("threshold"), c.Flags().Changed("keep-recent-tokens")
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
	if why := selection.IdleReason(session); why != "" && !r.Every && (r.folds || r.Quiet || r.idle.Told(why)) {
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
