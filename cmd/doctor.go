package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/doctor"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
)

// doctorOptions are the options of doctor.
type doctorOptions struct {
	Fix    bool
	GiveUp string // the id of a journal entry, or its start
	// TrustClock declares recorded times in the future wrong.
	TrustClock bool
	NewLedger  string // why the ledger is begun anew
}

func newDoctorCommand(a *app) *cobra.Command {
	var o doctorOptions
	var broken error
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check for unfinished runs, damage, leftover files and wrong permissions",
		Long: `Look at everything of this tool and at the session stores: runs that were cut
short, old logs that wait, locks, temporary files, the memory, the archives and
their receipts, free space, permissions, the configuration and the clock. It
reads and changes nothing; with --fix it finishes what earlier runs began and
removes what they left half-written, as the next compaction would.

What no run can finish is set aside, and its session is neither changed nor
deleted until that is decided: --fix tries once more, --give-up ends it and
loses nothing. What it had put aside is archived and remembered, no log is
touched, and its entry is kept.

Exit codes: 0 no warnings and no problems, 1 a warning or a problem, 4 an archive
or the memory is damaged.`,
		Example: `  sessctl doctor
  sessctl doctor --fix
  sessctl doctor --give-up 01KD3V
  sessctl doctor --json`,
		// A configuration that cannot be read is a finding, not the end.
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := checkNames(c); err != nil {
				return err
			}
			a.Every = a.Global.Verbose
			if broken = a.configured(c); broken == nil {
				return a.startProfile()
			}
			return errors.Join(a.startProfile(), a.useDefaults(c))
		},
		RunE: func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), a, o, broken) },
	}
	c.Flags().BoolVar(&o.Fix, "fix", false, "finish what earlier runs began and remove what they left half-written")
	c.Flags().BoolVar(&o.TrustClock, "trust-clock", false, "the clock is right, and what was recorded in the future is not: clean and prune go on")
	c.Flags().StringVar(&o.NewLedger, "new-ledger", "", "begin the ledger anew, which names the one before and this `reason`")
	c.Flags().StringVar(&o.GiveUp, "give-up", "", "end the unfinished run with this `id`, which --fix cannot finish")
	return c
}

func runDoctor(ctx context.Context, a *app, o doctorOptions, broken error) error {
	fixed := o.Fix && broken == nil && o.GiveUp == ""
	var given *audit.GivenUp
	switch {
	case o.GiveUp+o.NewLedger != "" && broken != nil:
		return broken
	case o.GiveUp != "":
		var err error
		if given, err = removal.GiveUp(ctx, a.Run, o.GiveUp); err != nil {
			return err
		}
	case fixed:
		if err := doctor.FixUp(ctx, a.Run); err != nil {
			return err
		}
	}
	if o.TrustClock {
		if err := doctor.TrustClock(ctx, a.Run); err != nil {
			return err
		}
	}
	if o.NewLedger != "" {
		if err := doctor.BeginLedgerAnew(ctx, a.Run, o.NewLedger); err != nil {
			return err
		}
	}
	config := doctor.Configuration{Broken: broken}
	if broken == nil {
		config.Unusable = unusableSettings(a)
	}
	found, err := doctor.Examine(ctx, a.Run, config)
	if err != nil {
		return err
	}
	return finishDoctor(a, doctor.Document{Schema: 1, Fixed: fixed, Findings: found, GivenUp: given})
}

func finishDoctor(a *app, doc doctor.Document) error {
	if doc.Findings == nil {
		doc.Findings = []doctor.Finding{}
	}
	var err error
	if a.JSON {
		err = a.printJSON(doc)
	} else {
		err = renderDoctor(a, doc)
	}
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(doc.Findings, func(f doctor.Finding) bool { return f.Integrity }):
		return &failure.Outcome{Exit: failure.ExitIntegrity}
	case slices.ContainsFunc(doc.Findings, doctor.Finding.Matters):
		return &failure.Outcome{Exit: failure.ExitFailed}
	}
	return nil
}

// renderDoctor prints a line a finding, and what to do below it; with --quiet
// only what makes the exit code.
func renderDoctor(a *app, doc doctor.Document) error {
	var b strings.Builder
	count := map[doctor.Severity]int{}
	b.WriteString(removal.Describe(doc.GivenUp))
	for _, f := range doc.Findings {
		count[f.Severity]++
	}
	for _, of := range wording.ByCause(doc.Findings, func(f doctor.Finding) string { return f.Cause(a.Every) }) {
		f := of.First
		if a.Quiet && !f.Matters() {
			continue
		}
		text := f.Message + wording.More(of.Count-1)
		if f.Path != "" && !strings.HasPrefix(text, f.Path+":") {
			text = f.Path + ": " + text
		}
		fmt.Fprintf(&b, "%-8s %-9s %s\n", f.Severity, f.Check, wording.Visible(text))
		if f.Advice != "" {
			fmt.Fprintf(&b, "%18s -> %s\n", "", wording.Visible(f.Advice))
		}
	}
	if !a.Quiet || slices.ContainsFunc(doc.Findings, doctor.Finding.Matters) {
		fmt.Fprintf(&b, "%s, %s, %s\n", wording.Plural(count[doctor.SeverityProblem], "problem"), wording.Plural(count[doctor.SeverityWarning], "warning"), wording.Plural(count[doctor.SeverityNote], "note"))
	}
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}

// unusableSettings are the errors that commands would end with later, when nobody
// looks: one for each profile, and for the settings of the monitor and the server.
func unusableSettings(a *app) (all []error) {
	for _, name := range steps.ProfileNames(&a.Run.Settings) {
		_, err := planProfile(a, name, time.Time{})
		all = append(all, err)
	}
	_, monitorErr := workspace.MonitorSettings(&a.Run.Settings)
	_, schedulesErr := serveSchedules(a)
	_, zoneErr := web.ServeZone(a.Run)
	all = append(all, monitorErr, schedulesErr, zoneErr)
	told := map[string]bool{} // a schedule repeats what is wrong with its profile
	return slices.DeleteFunc(all, func(err error) bool {
		if err == nil || told[err.Error()] {
			return true
		}
		told[err.Error()] = true
		return false
	})
}
