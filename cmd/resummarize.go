package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/summarize"
	"github.com/spf13/cobra"
)

func newResummarizeCommand(a *app) *cobra.Command {
	var o selection.CompactOptions
	c := &cobra.Command{
		Use:   "resummarize",
		Short: "Write summaries again that a model should have written",
		Long: `Write the summaries of archived sessions again for which the model was not
available. Sessions are not changed.`,
		Example: `  sessctl resummarize --all --dry-run
  sessctl resummarize --agent coordinator`,
		RunE: func(c *cobra.Command, _ []string) error { return runResummarize(c.Context(), a, o) },
	}
	fs := c.Flags()
	fs.StringVar((*string)(&o.Agent), "agent", "", "the summaries of this `agent` or runtime/agent")
	fs.BoolVar(&o.All, "all", false, "the summaries of every agent")
	fs.StringVar(&o.Session, "session", "", "the summary of this session (`id` or key)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVar(&o.Force, "force", false, "every built-in summary too")
	fs.StringVar(&o.Focus, "focus", "", "what the summaries should concentrate on, as `text`")
	fs.IntVar(&o.MaxCalls, "max-llm-calls", 0, "ask models at most this many `times` in this run (default 50)")
	fromConfig(fs, "max-llm-calls", "llm.max_calls")
	return c
}

// runResummarize writes the summaries now that a model was to write and did not.
func runResummarize(ctx context.Context, a *app, o selection.CompactOptions) error {
	if o.Agent == "" && o.Session == "" && !o.All {
		return failure.Usage("sessctl resummarize --agent NAME, or --all", "which summaries should be written again?")
	}
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
