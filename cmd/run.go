package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/spf13/cobra"
)

func newRunCommand(a *app) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use:   "run [PROFILE]",
		Short: "Run the steps of a profile: what a timer calls every night",
		Long: `Run the steps of a profile one after the other: compact, archive, extract-facts,
archive verify, clean, archive prune. Which, and with what options, the
configuration says under profiles.PROFILE; without it the profile nightly
compacts what is due, archives and remembers everything, and looks at the
archives, which it reads in full once a week. Nothing is deleted unless a profile
names clean or archive prune.

The data directory is locked from the first step to the last; --lock-wait says
how long to wait for another sessctl. A step that fails does not stop the
others, but nothing is deleted after a step that found damage, or after archive
or archive verify has failed. The exit code is that of the worst step: 4, 1, 3,
75, 0 in this order. Every run is a record that log --runs shows. A run that was
stopped or killed has lost nothing: the next one completes it.

With --quiet a run that changed nothing says nothing.
` + exitHelp,
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

// profileNames are the profiles that can be run.
func (a *settings) profileNames() []string {
	return slices.Compact(slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(a.config.Profiles)), operate.DefaultProfile))))
}

func completeProfiles(a *app, _ *cobra.Command) (all []candidate) {
	for _, name := range a.profileNames() {
		all = append(all, candidate{id: name})
	}
	return all
}

// runDocument is `run --json` (docs/json.md): the record of the run, with the
// document of each step.
type runDocument struct {
	operate.RunRecord
	Notes []note `json:"notes"`
}

func runProfileCommand(ctx context.Context, a *app, profile string) error {
	record, err := a.runProfile(ctx, profile)
	if err != nil {
		return err
	}
	if err := renderRun(a, record); err != nil {
		return err
	}
	if record.ExitCode != exitOK {
		return &outcomeError{exit: record.ExitCode}
	}
	return nil
}

// renderRun prints the summary of a run: a line for each step, or one line if
// all is well and nothing has changed, which --quiet leaves out.
func renderRun(a *app, record operate.RunRecord) error {
	if a.JSON {
		return a.printJSON(runDocument{RunRecord: record, Notes: a.notes})
	}
	idle := record.Changed() == 0 && (record.Outcome == operate.OK || record.Outcome == operate.Busy)
	if idle && a.Quiet {
		return nil
	}
	if idle && record.Outcome == operate.OK {
		_, err := fmt.Fprintf(a.Out, "%s: nothing to do, %s in %s\n", record.Profile, plural(len(record.Steps), "step"), took(record.Seconds))
		return err
	}
	t := table{columns: []column{{name: "STEP"}, {name: "OUTCOME"}, {name: "TOOK", right: true, drop: 1}, {name: "WHAT", least: 24}}}
	var rows [][]string
	for _, s := range record.Steps {
		rows = append(rows, []string{stepTitle(s), string(s.Outcome), seconds(s.Seconds), visible(cmp.Or(s.Summary, s.Reason))})
		t.rows = append(t.rows, []string{stepTitle(s), string(s.Outcome), took(s.Seconds), cmp.Or(s.Summary, s.Reason)})
	}
	if err := a.printList(t, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s: %s in %s; %s\n", record.Profile, record.Outcome, took(record.Seconds), growth(record.BytesBefore, record.BytesAfter))
	return err
}

// stepTitle is a step, with the agent that it is about.
func stepTitle(s operate.StepRecord) string {
	if i := slices.Index(s.Command, "--agent"); i >= 0 && i+1 < len(s.Command) {
		return s.Step + " " + s.Command[i+1]
	}
	return s.Step
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 1, 64) }

// took is a duration for people.
func took(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// growth says what became more or less on the disk.
func growth(before, after operate.Sizes) string {
	var parts []string
	for _, of := range []struct {
		what          string
		before, after int64
	}{{"logs", before.Logs, after.Logs}, {"archives", before.Archives, after.Archives}, {"memory", before.Memory, after.Memory}} {
		text := of.what + " " + formatBytes(of.after)
		if of.before != of.after {
			text = fmt.Sprintf("%s %s -> %s", of.what, formatBytes(of.before), formatBytes(of.after))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// rehearsal is `run --dry-run --json`.
type rehearsal struct {
	Schema  int             `json:"schema"`
	DryRun  bool            `json:"dry_run"`
	Profile string          `json:"profile"`
	Steps   []rehearsedStep `json:"steps"`
	Notes   []note          `json:"notes"`
}

type rehearsedStep struct {
	Step     string          `json:"step"`
	Command  []string        `json:"command"`
	Reason   string          `json:"reason"` // why it would not begin, or ""
	Document json.RawMessage `json:"document,omitempty"`
}

// rehearseProfile is run --dry-run: the plan of each step, as its command prints
// it. A step that changes what the next one finds is not imagined.
func rehearseProfile(ctx context.Context, a *app, profile string) error {
	earlier, err := a.earlierRuns(ctx)
	if err != nil {
		return err
	}
	plan, refused := a.planProfile(profile, operate.LastRead(earlier))
	if refused != nil && exitCode(refused) == exitUsage {
		return refused
	}
	doc := rehearsal{Schema: 1, DryRun: true, Profile: profile, Steps: []rehearsedStep{}}
	var codes []operate.StepRecord
	for _, step := range plan.steps {
		row := rehearsedStep{Step: step.kind.name, Command: step.command(), Reason: operate.Hold(step.kind.name, nil, earlier)}
		if !a.JSON {
			_, _ = fmt.Fprintf(a.Out, "# sessctl %s\n", visible(strings.Join(row.Command, " ")))
		}
		switch {
		case step.refused != nil:
			row.Reason = explain(step.refused).Message
			a.failed(step.kind.name, step.refused)
		case row.Reason != "":
			a.tell(note{Message: step.kind.name + ": " + row.Reason})
		default:
			code, document := a.rehearseStep(ctx, step)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			codes, row.Document = append(codes, operate.StepRecord{Outcome: outcomeOfCode(code)}), document
		}
		doc.Steps = append(doc.Steps, row)
	}
	if doc.Notes = a.notes; a.JSON {
		if err := a.printJSON(doc); err != nil {
			return err
		}
	}
	if refused != nil {
		return &outcomeError{exit: exitCode(refused)} // that is how the run would end
	}
	return exitWith(operate.Worst(codes))
}

// exitWith is the error for an outcome that was told, nil if all is well.
func exitWith(outcome operate.Outcome) error {
	if code := codeOfOutcome(outcome); code != exitOK {
		return &outcomeError{exit: code}
	}
	return nil
}

// rehearseStep prints the plan of one step, or returns its document.
func (a *app) rehearseStep(ctx context.Context, step plannedStep) (code int, document json.RawMessage) {
	inner := a.inner()
	inner.streams.document = nil
	if a.JSON {
		inner.streams.document = func(d any) { document = encoded(d) }
	}
	defer inner.closeStores()
	err := step.kind.run(ctx, inner, step.flags, true)
	inner.reportStep(step.kind.name, err)
	return inner.codeOf(err), document
}
