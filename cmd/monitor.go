package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addMonitorFlags(o *audit.MonitorOptions, fs *pflag.FlagSet) {
	fs.Var(&o.Threshold, "threshold", "a session of at least this many `tokens` needs a compaction, or of this share of its window, such as 80% (default 150000,80%)")
	fs.DurationVar(&o.Interval, "interval", 0, "look again after this `duration`, until a signal; without it once")
	fs.BoolVar(&o.Compact, "compact", false, "compact the sessions that need it (sessctl compact --all)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "report what is wrong and which events would be sent; record, send and compact nothing")
	fs.BoolVar(&o.Code, "exit-code", false, "end as Nagios expects: 0 nothing is wrong, 1 warning, 2 critical, 3 unknown; the first line says which")
	fromConfig(fs, "threshold", "compaction.threshold")
	fromConfig(fs, "compact", "monitor.compact")
}

func newMonitorCommand(a *app) *cobra.Command {
	var o audit.MonitorOptions
	c := &cobra.Command{
		Use:   "monitor",
		Short: "Report what needs a person, once or every few minutes",
		Long: `Look at all sessions, archives, the memory, the runs and the disks, and report
what needs a person: sessions over the threshold, logs that a runtime is about to
delete and that have no archive, damaged archives, a disk that fills up, unusual
growth, records that wait for an embedding for a day, a profile that
has not succeeded for too long, logs that cannot be read, stores that are gone.

A problem makes one event when it begins (docs/monitor.md lists the types), and
another only after it has ended and begun again, or something is added to it.
monitor.json in the data directory holds what was reported. In quiet hours alerts
are held and sent afterwards; sessions that need a compaction are reported at
once, and --compact compacts at any hour.

With --quiet only what is reported for the first time is printed. "All is well" is
said only if every store was read, the last run of every profile succeeded and
nothing is due.

Exit codes: 0 done, also if something needs a person; 1 failed, 2
wrong usage, 3 something could not be looked at, 75 another monitor is looking.
With --interval a signal ends it, with exit code 0; with --exit-code it ends with
the state of the machine: 0, 1, 2 or 3.`,
		Example: `  sessctl monitor
  sessctl monitor --quiet
  sessctl monitor --interval 5m --compact
  sessctl monitor --dry-run --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.ThresholdAsked = c.Flags().Changed("threshold")
			if err := o.Validate(); err != nil {
				return err
			}
			return runMonitor(c.Context(), a, o)
		},
	}
	addMonitorFlags(&o, c.Flags())
	return c
}

func runMonitor(ctx context.Context, a *app, o audit.MonitorOptions) error {
	if o.Code {
		return lookForStatus(ctx, a, o)
	}
	if o.Interval == 0 {
		report, err := lookOnce(ctx, a, o)
		return finishLook(a, report, err)
	}
	var last []string
	for {
		look := a.anew()
		look.Pin()
		report, err := lookOnce(ctx, look, o)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if now := report.State(); err != nil || last == nil || report.Tells() || !slices.Equal(now, last) {
			reportError(a.Err, finishLook(look, report, err), a.JSON) // the next look may succeed
			last = now
		}
		workspace.TellEvents(ctx, look.Run) // of this look, and what waits
		look.Pins.End()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.Interval):
		}
	}
}

// lookForStatus is one look for a program that watches machines: the first line and
// the exit code are the state.
func lookForStatus(ctx context.Context, a *app, o audit.MonitorOptions) error {
	report, err := lookOnce(ctx, a, o)
	status := report.Status()
	if err != nil || a.Incomplete > 0 && status == 0 {
		status = audit.StatusUnknown
	}
	if report.Coded = true; !a.JSON {
		if _, err := fmt.Fprintf(a.Out, "%s: %s\n", audit.StatusName(status), report.Headline()); err != nil {
			return err
		}
	}
	reportError(a.Err, finishLook(a, report, err), a.JSON)
	return &failure.Outcome{Exit: status}
}

// monitorOnce is one look by the configuration, for whoever looks again and
// again: the server. It prints nothing, and tells the events of the look and those
// that wait.
func monitorOnce(ctx context.Context, a *app) (audit.MonitorReport, error) {
	look := a.aside()
	look.Pin()
	defer look.Pins.Release()
	report, err := lookOnce(ctx, look, audit.MonitorOptions{Threshold: a.Config.Compaction.Due(), Compact: a.Config.Monitor.Compact})
	workspace.TellEvents(ctx, look.Run)
	report.Notes = look.Notes
	return report, err
}

// lookOnce looks once, tells of what is new, and compacts what needs it if that
// is asked for. Another monitor that is looking is durable.ErrLocked. The report
// holds also where what is new could not be kept.
func lookOnce(ctx context.Context, a *app, o audit.MonitorOptions) (audit.MonitorReport, error) {
	options, err := workspace.MonitorSettings(&a.Run.Settings)
	if err != nil {
		return audit.MonitorReport{}, err
	}
	if o.DryRun {
		return lookAndTell(ctx, a, o, options)
	}
	report, err := lookLocked(ctx, a, o, options)
	if err != nil || !o.Compact || report.Due == 0 {
		return report, err
	}
	return report, compactDue(ctx, a, o, &report)
}

// lookLocked looks while no other monitor does.
func lookLocked(ctx context.Context, a *app, o audit.MonitorOptions, options monitor.Options) (audit.MonitorReport, error) {
	lock, err := audit.LockMonitor(ctx, a.Run)
	if err != nil {
		return audit.MonitorReport{}, err
	}
	defer lock.Unlock()
	workspace.MarkEvents(a.Run) // what waits is tried again by every look
	return lookAndTell(ctx, a, o, options)
}

// compactDue is compact --all. What is busy now is taken by a later look, and
// needs nobody.
func compactDue(ctx context.Context, a *app, o audit.MonitorOptions, report *audit.MonitorReport) error {
	flags := steps.StepFlags{"--all"}
	if o.ThresholdAsked {
		flags = append(flags, "--threshold="+o.Threshold.String())
	}
	options, err := parseCompact(a, flags)
	if err != nil {
		return err
	}
	inner := a.inner()
	inner.Quiet = true
	if inner.streams.document = nil; a.JSON {
		inner.streams.document = func(d any) { report.Compaction = steps.Encoded(d) }
	}
	err = runCompact(ctx, inner, options)
	workspace.CloseStores(inner.Run)
	a.Incomplete += inner.Incomplete
	if failure.ExitCode(err) == failure.ExitBusy {
		err = nil
	}
	report.Compacted = err == nil
	return err
}

// lookAndTell makes one look. The order is what makes each event arrive once: the
// state with the events, the events, the state without them.
func lookAndTell(ctx context.Context, a *app, o audit.MonitorOptions, options monitor.Options) (audit.MonitorReport, error) {
	path := audit.MonitorStatePath(&a.Run.Settings)
	state, err := monitor.Load(a.Pins, path)
	if err != nil {
		a.PassOver(workspace.Note{Path: path, Message: err.Error() + "; a new one is started, and what is wrong now is reported again in " + options.CoolDown.String() + " at the earliest"})
	}
	seen, err := observe(ctx, a, audit.LookOptions{Threshold: o.Threshold, ThresholdAsked: o.ThresholdAsked, Earlier: state.Stores, Refused: unusableSettings(a)})
	if err != nil && !(workspace.IsNoStore(err) && len(seen.Unread) > 0) { // what is passed over is told
		return audit.MonitorReport{}, err
	}
	report := audit.MonitorReport{Schema: 1, Looked: seen.At.UTC().Format(time.RFC3339), DryRun: o.DryRun, Threshold: o.Threshold.Tokens, Share: o.Threshold.Percent}
	report.Count(&seen.Observed)
	report.Waits = seen.Waiting()
	report.Alerts, report.Unread = seen.AlertsOf(state, options), seen.Unread
	report.Waiting = len(state.Held)
	for _, n := range seen.Failures {
		a.PassOver(n)
	}
	report.Incomplete = seen.Broken()
	if o.DryRun {
		return report, err
	}
	return report, cmp.Or(audit.KeepAndPut(ctx, a.Run, state, path), err)
}

// finishLook prints a report, also where what is new could not be kept.
func finishLook(a *app, report audit.MonitorReport, err error) error {
	if report.Schema == 0 {
		return err
	}
	if renderErr := renderMonitor(a, report); err == nil {
		err = renderErr
	}
	if err == nil && (report.Incomplete > 0 || a.Incomplete > 0) {
		return &failure.Outcome{Exit: failure.ExitPartly}
	}
	return err
}

// renderMonitor prints the document, one line if all is well, or what needs a
// person.
func renderMonitor(a *app, r audit.MonitorReport) error {
	if r.Notes = a.Notes; a.JSON {
		return a.printJSON(r)
	}
	alerts := slices.DeleteFunc(slices.Clone(r.Alerts), func(x monitor.Alert) bool {
		return a.Quiet && (x.Event == "" || x.Held) || r.Compacted && x.Kind == monitor.NeedsCompaction
	})
	if len(alerts) == 0 {
		if a.Quiet || r.Coded {
			return nil
		}
		_, err := fmt.Fprintf(a.Out, "%s\n", r.Headline())
		return err
	}
	t := table{columns: []column{{name: "WHAT"}, {name: "SINCE", drop: 2}, {name: "TOLD", drop: 1}, {name: "WHERE", least: 16}, {name: "MESSAGE", least: 30}}}
	var rows [][]string
	var advice []string
	for _, alert := range alerts {
		rows = append(rows, []string{string(alert.Kind), alert.Since.UTC().Format(time.RFC3339), audit.ToldWhen(alert), wording.Visible(alert.Subject), wording.Visible(alert.Message)})
	}
	for _, alert := range audit.OneOfACause(alerts) {
		t.rows = append(t.rows, []string{string(alert.Kind), wording.ShownTime(wording.StampText(alert.Since)), audit.ToldWhen(alert), a.Tilde(alert.Subject), alert.Message})
		if !slices.Contains(advice, alert.Advice) {
			advice = append(advice, alert.Advice)
		}
	}
	if err := a.printList(t, rows); err != nil {
		return err
	}
	for _, text := range advice[:min(len(advice), audit.MostHints)] {
		a.Hint(text)
	}
	return nil
}

// observe looks at everything. Only a context that ended is an error, and that
// there is no store, after the rest was looked at.
func observe(ctx context.Context, a *app, options audit.LookOptions) (*audit.Observer, error) {
	o := audit.NewObserver(a.Run, options)
	defer workspace.CloseStores(o.Run)
	return o, o.Look(ctx)
}
