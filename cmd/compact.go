package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

type compactOptions struct {
	Agent            string
	All              bool
	Session          string
	Threshold        int64
	DryRun           bool
	Force            bool
	Clear            bool
	Strategy         string
	SkipSummary      bool
	SkipArchive      bool
	KeepRecentTokens int64
	Focus            string
	Quiet            time.Duration
	Gateway          string
	MaxCalls         int
	Resummarize      bool

	// Whether they were given as flags: not as defaults or by the configuration.
	thresholdAsked, keepAsked bool
}

// strategyNames are the strategies a person can ask for.
func strategyNames() []string {
	return []string{string(compact.StrategyRotate), string(compact.StrategyOverlay), string(compact.StrategyRewrite)}
}

func (o *compactOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "compact the main session of this `agent`")
	fs.BoolVar(&o.All, "all", false, "compact the main session of every agent that is found")
	fs.StringVar(&o.Session, "session", "", "compact this session (`id` or key) instead of the main one")
	fs.Int64Var(&o.Threshold, "threshold", 0, "compact sessions of at least this many `tokens` (default 150000)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVar(&o.Force, "force", false, "compact below the threshold too")
	fs.BoolVar(&o.Clear, "clear", false, "clear the session: archive it and start fresh (the same as --force --strategy rotate)")
	fs.StringVar(&o.Strategy, "strategy", "", "how to make the session small: rotate, overlay, rewrite (default: the runtime's own)")
	fs.BoolVar(&o.SkipSummary, "skip-summary", false, "store no summary")
	fs.BoolVar(&o.SkipArchive, "skip-archive", false, "remember only: no archive, and the session is not changed")
	fs.Int64Var(&o.KeepRecentTokens, "keep-recent-tokens", 0, "keep at least this many recent `tokens` in the session (with overlay and rewrite; default 20000)")
	fs.StringVar(&o.Focus, "focus", "", "what the summary should dwell on, as `text`")
	fs.DurationVar(&o.Quiet, "quiet-period", 0, "leave sessions alone that changed within this `duration` (default 1m)")
	fs.StringVar(&o.Gateway, "gateway", "", "whether a running OpenClaw gateway is asked to start the session fresh: `auto`, never or require")
	fs.IntVar(&o.MaxCalls, "max-llm-calls", 0, "ask models at most so many `times` in this run (default 50)")
	fs.BoolVar(&o.Resummarize, "resummarize", false, "write summaries anew that a model was to write and did not; with --force all that none has written")
	fromConfig(fs, "max-llm-calls", "llm.max_calls")
	fromConfig(fs, "gateway", "compaction.gateway")
	fromConfig(fs, "threshold", "compaction.threshold")
	fromConfig(fs, "strategy", "compaction.strategy")
	fromConfig(fs, "quiet-period", "compaction.quiet_period")
	fromConfig(fs, "keep-recent-tokens", "compaction.keep_recent_tokens")
}

func (o *compactOptions) validate() error {
	const see = "see sessctl compact --help"
	switch {
	case o.Agent == "" && !o.All && o.Session == "":
		return usageError("name an agent, or use --all; sessctl sizes shows the agents there are", "which session? --agent, --all or --session is needed")
	case o.All && (o.Agent != "" || o.Session != ""):
		return usageError(see, "--all goes with neither --agent nor --session")
	case o.Threshold <= 0:
		return usageError(see, "--threshold must be positive, not %d", o.Threshold)
	case o.Clear && o.Strategy != string(compact.StrategyRotate):
		return usageError(see, "--clear goes with no other strategy")
	case o.Strategy != "" && !slices.Contains(strategyNames(), o.Strategy):
		return usageError("strategies: "+strings.Join(strategyNames(), ", "), "unknown strategy %q", o.Strategy)
	case !slices.Contains([]compact.GatewayUse{compact.GatewayAuto, compact.GatewayNever, compact.GatewayRequire}, compact.GatewayUse(o.Gateway)):
		return usageError("auto asks a running gateway, never leaves its sessions alone, require changes nothing without one", "unknown use of the gateway %q", o.Gateway)
	case o.MaxCalls < 0:
		return usageError("0 asks none: summaries are extractive", "--max-llm-calls must not be negative")
	case o.KeepRecentTokens < 0:
		return usageError(see, "--keep-recent-tokens must not be negative")
	case o.keepAsked && o.Strategy == string(compact.StrategyRotate):
		return usageError("rotate starts a fresh session; its log stays in the archive", "--keep-recent-tokens does not go with the strategy rotate")
	case o.SkipSummary && compact.Strategy(o.Strategy) != compact.StrategyRotate && o.Strategy != "":
		return usageError("the summary takes the place of what is cut away", "--skip-summary does not go with the strategy %s", o.Strategy)
	}
	return nil
}

func (o *compactOptions) policy() compact.Policy {
	return compact.Policy{
		Threshold: o.Threshold, Force: o.Force, SkipArchive: o.SkipArchive, SkipSummary: o.SkipSummary,
		Strategy: compact.Strategy(o.Strategy), Quiet: o.Quiet, Asked: o.thresholdAsked, Requested: !o.All,
		Gateway: compact.GatewayUse(o.Gateway),
		Keep:    session.Keep{Tokens: o.KeepRecentTokens},
	}
}

func newCompactCommand(a *app) *cobra.Command {
	var o compactOptions
	var undo undoOptions
	c := &cobra.Command{
		Use:   "compact",
		Short: "Archive a session, remember it, and let its agent start fresh",
		Long: `Put a verified copy of a session's log in the archive, cut it into searchable
memory, write a summary, and make the session small: it starts fresh (rotate),
or a summary record is appended that stands for all but its recent end
(overlay), or its older turns are replaced by a summary (rewrite). Each runtime
has its default. A session that somebody may be writing is left alone: exit
code 75, try again later.

Sessions below the threshold are left alone too. An agent's main session is
meant unless --session names another; sessions of cron jobs, groups and threads
are only compacted by name.

--undo reverses a compaction: the session is as it was, and what had been stored
of it is taken out of memory. --resummarize makes summaries of archived sessions
again that a model was to write and did not; sessions are not touched.
` + exitHelp,
		Example: `  sessctl compact --agent coordinator --dry-run
  sessctl compact --agent coordinator
  sessctl compact --all --threshold 120000
  sessctl compact --agent coordinator --skip-archive`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			o.thresholdAsked, o.keepAsked = c.Flags().Changed("threshold"), c.Flags().Changed("keep-recent-tokens")
			if undo.asked(c) {
				return runUndo(c.Context(), a, undo, c.Flags())
			}
			if o.Resummarize {
				if err := checkResummarize(o, c.Flags()); err != nil {
					return err
				}
				return runResummarize(c.Context(), a, o)
			}
			if o.Clear && !c.Flags().Changed("strategy") {
				o.Strategy, o.Force = string(compact.StrategyRotate), true
			}
			if err := o.validate(); err != nil {
				return err
			}
			return runCompact(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	undo.addFlags(c.Flags())
	return c
}

// compactDocument is `compact --json` (docs/json.md).
type compactDocument struct {
	Schema   int              `json:"schema"`
	DryRun   bool             `json:"dry_run"`
	Sessions []compact.Result `json:"sessions"`
	Late     []lateLines      `json:"late_lines,omitempty"`
	Notes    []note           `json:"notes"`
}

func runCompact(ctx context.Context, a *app, o compactOptions) error {
	if err := a.endMoves(ctx, o.DryRun); err != nil {
		return err
	}
	all, err := a.findSessions(ctx)
	if err != nil {
		return err
	}
	targets, none, err := chooseTargets(all, o)
	if err != nil {
		return err
	}
	a.config.LLM.MaxCalls = o.MaxCalls
	summarizer, err := a.summarizers(o.Focus)
	if err := errors.Join(err, a.checkEvents()); err != nil {
		return err
	}
	if o.DryRun {
		return dryRun(ctx, a, all, compactDocument{Schema: 1, DryRun: true, Sessions: none}, plans{targets, o.policy()})
	}
	h, err := a.openHouse(ctx, o.Focus)
	if err != nil {
		return err
	}
	defer h.close()
	h.compactor.Summarizer = summarizer
	if targets, none, err = a.settle(ctx, h, all, o); err != nil {
		return err
	}
	done, err := compactAll(ctx, a, h, targets, o.policy())
	a.announce(ctx, o, done)
	a.warnOfPurge(ctx, all.sessions)
	return a.finish(compactDocument{Schema: 1, Sessions: append(none, done...)}, err)
}

// finish prints what there is to say and decides the exit code.
func (a *app) finish(doc compactDocument, err error) error {
	if err != nil {
		return errors.Join(err, a.renderUnlessEmpty(doc))
	}
	if err := renderCompact(a, doc); err != nil {
		return err
	}
	return outcomeOf(doc.Sessions)
}

// settle finishes what earlier runs began and then looks again: a rotation
// that was half done is done now.
func (a *app) settle(ctx context.Context, h *house, all inventory, o compactOptions) ([]found, []compact.Result, error) {
	settled, err := h.settle(ctx, a, all.sessions, o.policy())
	if err != nil {
		return nil, nil, err
	}
	if settled > 0 {
		if all, err = a.findSessions(ctx); err != nil {
			return nil, nil, err
		}
	}
	return chooseTargets(all, o)
}

func (a *app) renderUnlessEmpty(doc compactDocument) error {
	if len(doc.Sessions) == 0 {
		return nil
	}
	return renderCompact(a, doc)
}

func compactAll(ctx context.Context, a *app, h *house, targets []found, policy compact.Policy) ([]compact.Result, error) {
	var results []compact.Result
	for _, t := range targets {
		result, err := compactOne(ctx, a, h, t, policy)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		if err != nil {
			h.progress.clear()
			reportFailure(a, t, err)
		}
		results = append(results, result)
		if result.Outcome == compact.Partial {
			results = append(results, compactFamily(ctx, a, h, t, policy)...)
		}
	}
	return results, ctx.Err()
}

func compactOne(ctx context.Context, a *app, h *house, t found, policy compact.Policy) (compact.Result, error) {
	plan, err := compact.NewPlan(ctx, t.store, t.Ref, policy, a.now())
	if err != nil {
		return failedResult(t, err), err
	}
	if plan.Outcome != compact.Planned {
		return plan.Result(), nil
	}
	return h.compactor.Execute(ctx, t.store, plan, policy)
}

// reportFailure says at once what went wrong with one session; the run goes on.
func reportFailure(a *app, t found, err error) {
	if a.global.JSON {
		return // the document has it
	}
	body := explain(err)
	_, _ = fmt.Fprintf(a.Err, "sessctl: %s: %s\n", visible(t.Path), visibleText(body.Message))
	a.hint(body.Hint)
}

func failedResult(t found, err error) compact.Result {
	return compact.NewResult(t.Ref, compact.Failed, err.Error())
}

// outcomeOf decides the exit code of a run: failures before busy sessions
// before everything else.
func outcomeOf(results []compact.Result) error {
	count := map[compact.Outcome]int{}
	for _, r := range results {
		count[r.Outcome]++
	}
	switch failed := count[compact.Failed]; {
	case failed > 0 && failed < len(results):
		return &outcomeError{exit: exitPartly}
	case failed > 0:
		return &outcomeError{exit: exitFailed}
	case count[compact.Busy] > 0:
		return &outcomeError{exit: exitBusy}
	case count[compact.Unsupported] > 0 && count[compact.Unsupported] == len(results):
		return &outcomeError{exit: exitFailed}
	}
	return nil
}
