package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type monitorOptions struct {
	Threshold int64
	Interval  time.Duration
	Compact   bool
	DryRun    bool

	thresholdAsked bool // as a flag
}

func (o *monitorOptions) addFlags(fs *pflag.FlagSet) {
	fs.Int64Var(&o.Threshold, "threshold", 0, "a session of at least this many `tokens` needs a compaction (default 150000)")
	fs.DurationVar(&o.Interval, "interval", 0, "look again after this `duration`, until a signal; without it once")
	fs.BoolVar(&o.Compact, "compact", false, "compact the sessions that need it (sessctl compact --all)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "report what is wrong and which events would be sent; record, send and compact nothing")
	fromConfig(fs, "threshold", "compaction.threshold")
	fromConfig(fs, "compact", "monitor.compact")
}

// leastInterval keeps a mistyped interval from reading the stores all the time.
const leastInterval = time.Second

func (o *monitorOptions) validate() error {
	switch {
	case o.Threshold <= 0:
		return usageError("", "--threshold must be positive, not %d", o.Threshold)
	case o.Interval < 0 || o.Interval > 0 && o.Interval < leastInterval:
		return usageError("5m is usual", "--interval must be at least %s, not %s", leastInterval, o.Interval)
	case o.DryRun && o.Interval > 0:
		return usageError("one of them", "--dry-run does not go with --interval")
	}
	return nil
}

func newMonitorCommand(a *app) *cobra.Command {
	var o monitorOptions
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

With --quiet only what is reported for the first time is printed.

Exit codes: 0 done, also if something needs a person; 1 failed, 2
wrong usage, 3 something could not be looked at, 75 another monitor is looking.
With --interval a signal ends it, with exit code 0.`,
		Example: `  sessctl monitor
  sessctl monitor --quiet
  sessctl monitor --interval 5m --compact
  sessctl monitor --dry-run --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			o.thresholdAsked = c.Flags().Changed("threshold")
			if err := o.validate(); err != nil {
				return err
			}
			return runMonitor(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// monitorReport is `monitor --json` (docs/json.md): one look.
type monitorReport struct {
	Schema    int             `json:"schema"`
	Looked    string          `json:"looked_at"` // RFC 3339, UTC
	DryRun    bool            `json:"dry_run"`
	Threshold int64           `json:"threshold"`
	Stores    int             `json:"stores"`
	Agents    int             `json:"agents"`
	Sessions  int             `json:"sessions"` // that were measured
	Archives  int             `json:"archives"`
	Alerts    []monitor.Alert `json:"alerts"` // what is wrong, what matters most first
	Waiting   int             `json:"held"`   // events that wait for the end of quiet hours
	// Compaction is the document of compact --all; null if it was not needed or not
	// asked for.
	Compaction json.RawMessage `json:"compaction"`
	Notes      []note          `json:"notes"`

	incomplete int  // what could not be looked at
	due        int  // sessions that need a compaction
	compacted  bool // they were compacted, as far as they are not busy
}

func runMonitor(ctx context.Context, a *app, o monitorOptions) error {
	if o.Interval == 0 {
		report, err := a.monitor(ctx, o)
		return a.finishLook(report, err)
	}
	var last []string
	for {
		look := a.anew()
		look.pin()
		report, err := look.monitor(ctx, o)
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if now := report.state(); err != nil || last == nil || report.tells() || !slices.Equal(now, last) {
			reportError(a.Err, look.finishLook(report, err), a.JSON) // the next look may succeed
			last = now
		}
		look.tellEvents(ctx) // of this look, and what waits
		look.pins.End()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.Interval):
		}
	}
}

// monitorOnce is one look by the configuration, for whoever looks again and
// again: the server. It prints nothing, and tells the events of the look and those
// that wait.
func (a *app) monitorOnce(ctx context.Context) (monitorReport, error) {
	look := a.aside()
	look.pin()
	defer look.pins.Release()
	report, err := look.monitor(ctx, monitorOptions{Threshold: a.config.Compaction.Threshold, Compact: a.config.Monitor.Compact})
	look.tellEvents(ctx)
	report.Notes = look.notes
	return report, err
}

// monitor looks once, tells of what is new, and compacts what needs it if that
// is asked for. Another monitor that is looking is durable.ErrLocked. The report
// holds also where what is new could not be kept.
func (a *app) monitor(ctx context.Context, o monitorOptions) (monitorReport, error) {
	options, err := a.monitorSettings()
	if err != nil {
		return monitorReport{}, err
	}
	if o.DryRun {
		return a.lookAndTell(ctx, o, options)
	}
	report, err := a.lookLocked(ctx, o, options)
	if err != nil || !o.Compact || report.due == 0 {
		return report, err
	}
	return report, a.compactDue(ctx, o, &report)
}

// lookLocked looks while no other monitor does.
func (a *app) lookLocked(ctx context.Context, o monitorOptions, options monitor.Options) (monitorReport, error) {
	lock, err := a.lockMonitor(ctx)
	if err != nil {
		return monitorReport{}, err
	}
	defer lock.Unlock()
	a.markEvents() // what waits is tried again by every look
	return a.lookAndTell(ctx, o, options)
}

// compactDue is compact --all. What is busy now is taken by a later look, and
// needs nobody.
func (a *app) compactDue(ctx context.Context, o monitorOptions, report *monitorReport) error {
	flags := stepFlags{"--all"}
	if o.thresholdAsked {
		flags = append(flags, fmt.Sprintf("--threshold=%d", o.Threshold))
	}
	options, err := parseCompact(a, flags)
	if err != nil {
		return err
	}
	inner := a.inner()
	inner.Quiet = true
	if inner.streams.document = nil; a.JSON {
		inner.streams.document = func(d any) { report.Compaction = encoded(d) }
	}
	err = runCompact(ctx, inner, options)
	inner.closeStores()
	a.incomplete += inner.incomplete
	if exitCode(err) == exitBusy {
		err = nil
	}
	report.compacted = err == nil
	return err
}

// lockMonitor takes the lock of the monitors. It is not that of the data
// directory: nobody waits for a look.
func (a *invocation) lockMonitor(ctx context.Context) (*durable.FileLock, error) {
	guarded := a.apart()
	guarded.listed = true // only our own directory is changed
	if err := guarded.guard(ctx); err != nil {
		return nil, err
	}
	if err := a.pins.MakeDir(a.dataDir(), 0o700); err != nil {
		return nil, &failure{code: "permission", exit: exitFailed, path: a.dataDir(), hint: "choose another place with --data-dir", err: fmt.Errorf("make data directory: %w", err)}
	}
	lock, err := a.pins.Lock(filepath.Join(a.dataDir(), "lock-monitor"))
	if errors.Is(err, durable.ErrLocked) {
		return nil, &failure{code: "locked", exit: exitBusy, path: a.dataDir(), hint: "it sends the events; sessctl monitor --dry-run checks without sending", err: fmt.Errorf("another monitor is looking: %w", err)}
	}
	if err != nil {
		return nil, err
	}
	return lock, a.sweepMonitor()
}

// sweepMonitor removes what a monitor that was killed has left half-written.
func (a *invocation) sweepMonitor() error {
	left, err := a.pins.Leftovers(a.dataDir(), 0)
	for _, path := range left {
		if strings.HasPrefix(filepath.Base(path), "."+filepath.Base(a.monitorStatePath())+".") {
			err = errors.Join(err, a.pins.RemoveFile(path))
		}
	}
	return err
}

func (a *settings) monitorStatePath() string { return filepath.Join(a.dataDir(), "monitor.json") }

// lookAndTell makes one look. The order is what makes each event arrive once: the
// state with the events, the events, the state without them.
func (a *app) lookAndTell(ctx context.Context, o monitorOptions, options monitor.Options) (monitorReport, error) {
	path := a.monitorStatePath()
	state, err := monitor.Load(a.pins, path)
	if err != nil {
		a.passOver(note{Path: path, Message: err.Error() + "; a new one is started, and what is wrong now is reported again in " + options.CoolDown.String() + " at the earliest"})
	}
	seen, err := a.observe(ctx, lookOptions{threshold: o.Threshold, thresholdAsked: o.thresholdAsked, earlier: state.Stores})
	if err != nil {
		return monitorReport{}, err
	}
	report := monitorReport{Schema: 1, Looked: seen.at.UTC().Format(time.RFC3339), DryRun: o.DryRun, Threshold: o.Threshold, Sessions: len(seen.rows), Archives: len(seen.entries)}
	report.count(&seen)
	report.Alerts = append([]monitor.Alert{}, state.Step(seen.look(), options)...)
	report.Waiting = len(state.Held)
	for _, n := range seen.failures {
		a.passOver(n)
	}
	report.incomplete = len(seen.unread)
	if o.DryRun {
		return report, nil
	}
	return report, a.keepAndPut(ctx, state, path)
}

// keepAndPut writes down what was decided and then puts the events. What is not
// put, because the disk is full say, is put by the next look.
func (a *invocation) keepAndPut(ctx context.Context, state *monitor.State, path string) error {
	if err := state.Save(a.pins, path); err != nil {
		return err
	}
	if len(state.Ready) == 0 {
		return nil
	}
	for _, e := range state.Ready {
		if err := a.putEvent(ctx, e, e.Data); err != nil {
			return err
		}
	}
	state.Ready = nil
	return state.Save(a.pins, path)
}

// count says how much was looked at.
func (r *monitorReport) count(seen *observed) {
	agents := map[owner]bool{}
	for i := range seen.sessions {
		agents[seen.sessions[i].owner()] = true
	}
	r.Agents = len(agents)
	for _, s := range seen.stores {
		if !s.Missing {
			r.Stores++
		}
	}
	for _, s := range seen.mainSessions() {
		if s.Over && !s.Unused {
			r.due++
		}
	}
}

// look is what the monitor judges.
func (o *observed) look() monitor.Look {
	look := monitor.Look{
		Time: o.at, Sessions: o.mainSessions(), Purges: o.purges(), Disks: o.disks,
		Archives: o.damaged, ArchivesSeen: o.archivesSeen, Unread: o.unread, UnreadSeen: o.whole, Stores: o.stores,
	}
	if o.whole { // what could not be listed is not to grow when it can be
		look.Agents = o.agentSizes()
	}
	if o.memory != nil || o.memoryless {
		look.Memory = &monitor.Memory{Pending: o.pending()}
	}
	look.Profiles = o.profiles()
	return look
}

// agentSizes adds up the logs of each agent of a store.
func (o *observed) agentSizes() []monitor.AgentSize {
	var all []monitor.AgentSize
	at := map[owner]int{}
	for i := range o.sessions {
		s := &o.sessions[i]
		of := s.owner()
		if hasNoDirectory(of.runtime) {
			of.store = ""
		}
		n, known := at[of]
		if !known {
			n = len(all)
			at[of] = n
			all = append(all, monitor.AgentSize{Runtime: of.runtime, Agent: of.agent, Store: of.store})
		}
		all[n].Bytes += s.Bytes
	}
	return all
}

// pending counts the records that wait for an embedding.
func (o *observed) pending() (n int) {
	if o.memory != nil {
		for _, w := range o.memory.Waiting {
			n += w.Records
		}
	}
	return n
}

// inUse is how recently somebody must have used a session that sessctl cannot
// make smaller for its size to matter.
const inUse = 24 * time.Hour

// mainSessions are the sessions that a compaction of everything means, as the
// monitor judges them.
func (o *observed) mainSessions() []monitor.Session {
	stores := map[string]*found{}
	for i := range o.sessions {
		stores[o.sessions[i].Path+"\x00"+o.sessions[i].ID] = &o.sessions[i]
	}
	var all []monitor.Session
	for _, row := range o.mainRows() {
		s := stores[row.Path+"\x00"+row.Session]
		x := monitor.Session{
			Runtime: row.Runtime, Agent: row.Agent, Session: row.Session, Key: row.Key, Store: s.Store, Tokens: row.Tokens, TokenSource: row.TokenSource,
			Threshold: o.limit, ContextWindow: row.ContextWindow, Bytes: row.Bytes, Over: row.Over,
			Strategy: string(session.StrategyNone),
		}
		if hasNoDirectory(row.Runtime) {
			x.Store = ""
		}
		can := s.store.Capabilities()
		if strategies := can.StrategiesOf(s.Ref); len(strategies) > 0 {
			x.Strategy = string(strategies[0])
		}
		x.Near = !row.Over && can.Trigger == nil && row.Tokens >= o.limit-o.limit/10
		idle := o.at.Sub(row.last) > inUse
		x.Unused = row.Compact == prospectIrreducible || idle && (row.Compact == prospectRuntime || row.Compact == prospectUnsupported)
		all = append(all, x)
	}
	return all
}

// tells says whether the look made an event.
func (r *monitorReport) tells() bool {
	return slices.ContainsFunc(r.Alerts, func(x monitor.Alert) bool { return x.Event != "" })
}

// state is what a report says is wrong, to be compared with another one. That it
// was told before is no other state.
func (r *monitorReport) state() []string {
	lines := []string{fmt.Sprint(r.Waiting, r.incomplete)}
	for _, alert := range r.Alerts {
		lines = append(lines, string(alert.Kind)+" "+alert.Subject)
	}
	return lines
}

// finishLook prints a report, also where what is new could not be kept.
func (a *app) finishLook(report monitorReport, err error) error {
	if report.Schema == 0 {
		return err
	}
	if renderErr := renderMonitor(a, report); err == nil {
		err = renderErr
	}
	if err == nil && (report.incomplete > 0 || a.incomplete > 0) {
		return &outcomeError{exit: exitPartly}
	}
	return err
}

// renderMonitor prints the document, one line if all is well, or what needs a
// person.
func renderMonitor(a *app, r monitorReport) error {
	if r.Notes = a.notes; a.JSON {
		return a.printJSON(r)
	}
	alerts := slices.DeleteFunc(slices.Clone(r.Alerts), func(x monitor.Alert) bool {
		return a.Quiet && (x.Event == "" || x.Held) || r.compacted && x.Kind == monitor.NeedsCompaction
	})
	if len(alerts) == 0 {
		if a.Quiet {
			return nil
		}
		_, err := fmt.Fprintf(a.Out, "all is well: %s\n", r.lookedAt())
		return err
	}
	t := table{columns: []column{{name: "WHAT"}, {name: "SINCE", drop: 2}, {name: "TOLD", drop: 1}, {name: "WHERE", least: 16}, {name: "MESSAGE", least: 30}}}
	var rows [][]string
	var advice []string
	for _, alert := range alerts {
		told := map[bool]string{true: "now", false: "before"}[alert.Event != ""]
		if alert.Held {
			told = "held"
		}
		since := alert.Since.UTC().Format(time.RFC3339)
		rows = append(rows, []string{string(alert.Kind), since, told, visible(alert.Subject), visible(alert.Message)})
		t.rows = append(t.rows, []string{string(alert.Kind), shownTime(since), told, a.tilde(alert.Subject), alert.Message})
		if !slices.Contains(advice, alert.Advice) {
			advice = append(advice, alert.Advice)
		}
	}
	if err := a.printList(t, rows); err != nil {
		return err
	}
	for _, text := range advice[:min(len(advice), mostHints)] {
		a.hint(text)
	}
	return nil
}

// lookedAt counts what was looked at. How many archives there were before a
// compaction made more is of no use.
func (r *monitorReport) lookedAt() string {
	text := fmt.Sprintf("%s of %s in %s", plural(r.Sessions, "session"), plural(r.Agents, "agent"), plural(r.Stores, "store"))
	if !r.compacted {
		text += ", " + plural(r.Archives, "archive")
	}
	return text
}

// mostHints bounds the hints of one look.
const mostHints = 8
