package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/spf13/cobra"
)

func newRunCommand(a *app) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use:   "run [PROFILE]",
		Short: "Run the steps of a profile: what a timer calls every night",
		Long: `Run the steps of a profile one after the other: compact, archive, extract-facts,
archives verify, clean, archives prune. Which, and with what options, the
configuration says under profiles.PROFILE; without it the profile nightly
compacts what is due, archives and remembers everything, and looks at the
archives, which it reads in full once a week. Nothing is deleted unless a profile
names clean or archives prune.

The data directory is locked from the first step to the last; --lock-wait says
how long to wait for another sessctl. A step that fails does not stop the
others, but nothing is deleted after a step that found damage, or after archive
or archives verify has failed. The exit code is that of the worst step: 4, 1, 3,
75, 0 in this order. Every run is a record that log --runs shows. A run that was
stopped or killed has lost nothing: the next one completes it.

With --quiet a run that changed nothing says nothing.`,
		Example: `  sessctl run --dry-run
  sessctl run
  sessctl run nightly --lock-wait 10m --quiet
  sessctl log --runs`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			profile := operate.DefaultProfile
			if len(args) == 1 {
				profile = strings.ToLower(args[0]) // the keys of the configuration have no case
			}
			if dryRun {
				return rehearseProfile(c.Context(), a, profile)
			}
			return runProfileCommand(c.Context(), a, profile)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print the plan of each step and change nothing")
	return c
}

func completeProfiles(a *app, _ *cobra.Command) (all []selection.Candidate) {
	for _, name := range steps.ProfileNames(&a.Run.Settings) {
		all = append(all, selection.Candidate{ID: name})
	}
	return all
}

func runProfileCommand(ctx context.Context, a *app, profile string) error {
	row, err := runProfile(ctx, a, profile)
	if err != nil {
		return err
	}
	look := a.Run.Apart()
	defer workspace.CloseStores(look)
	unread, err := workspace.Unread(ctx, look)
	if err != nil && ctx.Err() == nil { // the steps have told it
		unread = nil
	}
	if err := renderRun(a, row, workspace.UnreadRows(unread)); err != nil {
		return err
	}
	if row.ExitCode != failure.ExitOK {
		return &failure.Outcome{Exit: row.ExitCode}
	}
	return nil
}

// renderRun prints the summary of a run: a line for each step, or one line if
// all is well and nothing has changed. With --quiet a run that did all it should
// prints nothing.
func renderRun(a *app, row audit.RunRow, unread []workspace.UnreadRow) error {
	if a.JSON {
		return a.printJSON(steps.RunDocument{RunRow: row, Unread: unread, Notes: a.Notes})
	}
	for _, r := range unread {
		a.Notice(r.Note())
	}
	idle := row.Changed() == 0 && (row.Outcome == operate.OK || row.Outcome == operate.Busy)
	if a.Quiet && (row.Outcome == operate.OK || row.Outcome == operate.Busy) {
		return nil
	}
	if idle && row.Outcome == operate.OK {
		_, err := fmt.Fprintf(a.Out, "%s: nothing to do, %s in %s\n", row.Profile, wording.Plural(len(row.Steps), "step"), steps.Took(row.Seconds))
		return err
	}
	t := table{columns: []column{{name: "STEP"}, {name: "OUTCOME"}, {name: "TOOK", right: true, drop: 1}, {name: "WHAT", least: 24}}}
	var rows [][]string
	for _, s := range row.Steps {
		rows = append(rows, []string{s.Title(), string(s.Outcome), steps.Seconds(s.Seconds), wording.Visible(s.Said())})
		t.rows = append(t.rows, []string{s.Title(), string(s.Outcome), steps.Took(s.Seconds), s.Said()})
	}
	if err := a.printList(t, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s: %s in %s; %s\n", row.Profile, row.Outcome, steps.Took(row.Seconds), steps.Growth(row.BytesBefore, row.BytesAfter))
	return err
}

// rehearseProfile is run --dry-run: the plan of each step, as its command prints
// it. A step that changes what the next one finds is not imagined.
func rehearseProfile(ctx context.Context, a *app, profile string) error {
	earlier, err := steps.EarlierRuns(ctx, a.Run)
	if err != nil {
		return err
	}
	plan, refused := planProfile(a, profile, operate.LastRead(earlier))
	if refused != nil && failure.ExitCode(refused) == failure.ExitUsage {
		return refused
	}
	doc := steps.Rehearsal{Schema: 1, DryRun: true, Profile: profile, Steps: []steps.RehearsedStep{}}
	var codes []operate.StepRecord
	for _, step := range plan.steps {
		row := steps.RehearsedStep{Step: step.kind.name, Command: step.command(), Reason: operate.Hold(step.kind.name, nil, earlier)}
		if !a.JSON {
			_, _ = fmt.Fprintf(a.Out, "# sessctl %s\n", wording.Visible(strings.Join(row.Command, " ")))
		}
		switch {
		case step.refused != nil:
			row.Reason = failure.Explain(step.refused).Message
			a.Failed(step.kind.name, step.refused)
		case row.Reason != "":
			a.Tell(workspace.Note{Message: step.kind.name + ": " + row.Reason})
		default:
			code, document := rehearseStep(ctx, a, step)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			codes, row.Document = append(codes, operate.StepRecord{Outcome: steps.OutcomeOfCode(code)}), document
		}
		doc.Steps = append(doc.Steps, row)
	}
	if doc.Notes = a.Notes; a.JSON {
		if err := a.printJSON(doc); err != nil {
			return err
		}
	}
	if refused != nil {
		return &failure.Outcome{Exit: failure.ExitCode(refused)} // that is how the run would end
	}
	return steps.ExitWith(operate.Worst(codes))
}

// rehearseStep prints the plan of one step, or returns its document.
func rehearseStep(ctx context.Context, a *app, step plannedStep) (code int, document json.RawMessage) {
	inner := a.inner()
	inner.streams.document = nil
	if a.JSON {
		inner.streams.document = func(d any) { document = steps.Encoded(d) }
	}
	defer workspace.CloseStores(inner.Run)
	err := step.kind.run(ctx, inner, step.flags, true)
	reportStep(inner, step.kind.name, err)
	return steps.CodeOf(inner.Run, err), document
}
