package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/sessctl/sessctl/pkg/session"
)

// MonitorOptions are the options of monitor.
type MonitorOptions struct {
	Threshold compact.Threshold
	Interval  time.Duration
	Compact   bool
	DryRun    bool

	ThresholdAsked bool // as a flag
	// Code makes the exit code the state of the machine, see [MonitorReport.Status].
	Code bool
}

// leastInterval keeps a mistyped interval from reading the stores all the time.
const leastInterval = time.Second

// Validate refuses options that contradict each other.
func (o *MonitorOptions) Validate() error {
	switch {
	case o.Interval < 0 || o.Interval > 0 && o.Interval < leastInterval:
		return failure.Usage("5m is usual", "--interval must be at least %s, not %s", leastInterval, o.Interval)
	case o.Code && o.Interval > 0:
		return failure.Usage("one of them", "--exit-code does not go with --interval")
	case o.DryRun && o.Interval > 0:
		return failure.Usage("one of them", "--dry-run does not go with --interval")
	}
	return nil
}

// MonitorReport is `monitor --json` (docs/json.md): one look.
type MonitorReport struct {
	Schema    int             `json:"schema"`
	Looked    string          `json:"looked_at"` // RFC 3339, UTC
	DryRun    bool            `json:"dry_run"`
	Threshold int64           `json:"threshold"`         // tokens, 0 for none
	Share     int64           `json:"threshold_percent"` // of the window, 0 for none
	Stores    int             `json:"stores"`
	Agents    int             `json:"agents"`
	Sessions  int             `json:"sessions"` // that were measured
	Archives  int             `json:"archives"`
	Alerts    []monitor.Alert `json:"alerts"` // what is wrong, what matters most first
	// Unread is what was seen and not read.
	Unread  []workspace.UnreadRow `json:"unread"`
	Waiting int                   `json:"held"` // events that wait for the end of quiet hours
	// Compaction is the document of compact --all; null if it was not needed or not
	// asked for.
	Compaction json.RawMessage  `json:"compaction"`
	Notes      []workspace.Note `json:"notes"`

	Incomplete int `json:"-"` // what could not be looked at
	Due        int `json:"-"` // sessions that need a compaction
	// Waits is what is to be done: where it needs a person not all is well.
	Waits     []report.Pending `json:"-"`
	Coded     bool             `json:"-"` // the first line was printed
	Compacted bool             `json:"-"` // they were compacted, as far as they are not busy
}

// LockMonitor takes the lock of the monitors. It is not that of the data
// directory: nobody waits for a look.
func LockMonitor(ctx context.Context, run *workspace.Run) (*durable.FileLock, error) {
	guarded := run.Apart()
	guarded.Listed = true // only our own directory is changed
	if err := guarded.Guard(ctx); err != nil {
		return nil, err
	}
	if err := run.Pins.MakeDir(run.DataDir(), 0o700); err != nil {
		return nil, &failure.Error{Code: "permission", Exit: failure.ExitFailed, Path: run.DataDir(), Hint: "choose another place with --data-dir", Err: fmt.Errorf("make data directory: %w", err)}
	}
	lock, err := run.Pins.Lock(filepath.Join(run.DataDir(), "lock-monitor"))
	if errors.Is(err, durable.ErrLocked) {
		return nil, &failure.Error{Code: "locked", Exit: failure.ExitBusy, Path: run.DataDir(), Hint: "it sends the events; sessctl monitor --dry-run checks without sending", Err: fmt.Errorf("another monitor is looking: %w", err)}
	}
	if err != nil {
		return nil, err
	}
	return lock, sweepMonitor(run)
}

// sweepMonitor removes what a monitor that was killed has left half-written.
func sweepMonitor(run *workspace.Run) error {
	left, err := run.Pins.Leftovers(run.DataDir(), 0)
	for _, path := range left {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "."+filepath.Base(MonitorStatePath(&run.Settings))+".") || workspace.OfReserve(name) {
			err = errors.Join(err, run.Pins.RemoveFile(path))
		}
	}
	return err
}

// MonitorStatePath is where the monitor keeps what it has reported.
func MonitorStatePath(a *workspace.Settings) string {
	return filepath.Join(a.DataDir(), "monitor.json")
}

// KeepAndPut writes down what was decided and then puts the events. What is not
// put, because the disk is full say, is put by the next look.
func KeepAndPut(ctx context.Context, run *workspace.Run, state *monitor.State, path string) error {
	workspace.KeepReserve(run)
	if err := workspace.UseReserve(run, func() error { return state.Save(run.Pins, path) }); err != nil {
		return err
	}
	if len(state.Ready) == 0 {
		return nil
	}
	for _, e := range state.Ready {
		if err := workspace.UseReserve(run, func() error { return workspace.PutEvent(ctx, run, e, e.Data) }); err != nil {
			return err
		}
	}
	state.Ready = nil
	return state.Save(run.Pins, path)
}

// Count says how much was looked at.
func (r *MonitorReport) Count(seen *Observed) {
	agents := map[workspace.Owner]bool{}
	for i := range seen.Sessions {
		agents[seen.Sessions[i].Owner()] = true
	}
	r.Sessions, r.Agents, r.Archives = len(seen.Rows), len(agents), len(seen.Entries)
	for _, s := range seen.stores {
		if !s.Missing {
			r.Stores++
		}
	}
	for _, s := range seen.mainSessions() {
		if s.Over && !s.Unused {
			r.Due++
		}
	}
}

// Look is what the monitor judges.
func (o *Observed) Look() monitor.Look {
	look := monitor.Look{
		Time: o.At, Sessions: o.mainSessions(), Purges: o.purges(), Disks: o.Disks,
		Archives: o.Damaged, ArchivesSeen: o.ArchivesSeen, Unread: o.unreadable(), UnreadSeen: o.whole, Stores: o.stores,
	}
	if o.whole { // what could not be listed is not to grow when it can be
		look.Agents = o.agentSizes()
	}
	if o.memory != nil || o.memoryless {
		look.Memory = &monitor.Memory{Pending: o.Pending()}
	}
	look.Profiles = o.Profiles()
	return look
}

// unreadable is what was not read, as the monitor judges it.
func (o *Observed) unreadable() (all []monitor.Unreadable) {
	for _, r := range o.Unread {
		all = append(all, monitor.Unreadable{Path: r.Paths[0], Message: r.Message, Runtime: r.Runtime, Cause: string(r.Cause), Broken: r.Broken, Count: r.Count, Bytes: r.Bytes, Hint: r.Hint})
	}
	return all
}

// unreadByCause counts what was not read.
func (o *Observed) unreadByCause() map[string]int {
	counts := map[string]int{}
	for _, r := range o.Unread {
		counts[string(r.Cause)] += r.Count
	}
	return counts
}

// Broken counts what should be read and could not be.
func (o *Observed) Broken() (n int) {
	for _, r := range o.Unread {
		if r.Broken {
			n += r.Count
		}
	}
	return n
}

// agentSizes adds up the logs of each agent of a store.
func (o *Observed) agentSizes() []monitor.AgentSize {
	var all []monitor.AgentSize
	at := map[workspace.Owner]int{}
	for i := range o.Sessions {
		s := &o.Sessions[i]
		of := s.Owner()
		if hasNoDirectory(of.Runtime) {
			of.Store = ""
		}
		n, known := at[of]
		if !known {
			n = len(all)
			at[of] = n
			all = append(all, monitor.AgentSize{Runtime: of.Runtime, Agent: of.Agent, Store: of.Store})
		}
		all[n].Bytes += s.Bytes
	}
	return all
}

// Pending counts the records that wait for an embedding.
func (o *Observed) Pending() (n int) {
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
func (o *Observed) mainSessions() []monitor.Session {
	stores := map[string]*workspace.Found{}
	for i := range o.Sessions {
		stores[o.Sessions[i].Path+"\x00"+o.Sessions[i].ID] = &o.Sessions[i]
	}
	var all []monitor.Session
	for _, row := range o.MainRows() {
		s := stores[row.Path+"\x00"+row.Session]
		x := monitor.Session{
			Runtime: row.Runtime, Agent: row.Agent, Session: row.Session, Key: row.Key, Store: s.Store, Tokens: row.Tokens, TokenSource: row.TokenSource,
			Threshold: row.Limit, ContextWindow: row.ContextWindow, Bytes: row.Bytes, Over: row.Over, DueBy: row.DueBy,
			Strategy: string(session.StrategyNone),
		}
		if hasNoDirectory(row.Runtime) {
			x.Store = ""
		}
		can := s.Adapter.Capabilities()
		if strategies := can.StrategiesOf(s.Ref); len(strategies) > 0 {
			x.Strategy = string(strategies[0])
		}
		x.Near = !row.Over && can.Trigger == nil && row.Limit > 0 && row.Tokens >= row.Limit-row.Limit/10
		if row.Compact == selection.ProspectBusy {
			x.Busy = row.Reason
		}
		x.Refused, x.Unused = row.Refusal(), o.unused(row)
		all = append(all, x)
	}
	return all
}

// unused reports a session whose size slows nobody down, or that cannot be smaller.
func (o *Observed) unused(row *selection.SessionRow) bool {
	switch row.Compact {
	case selection.ProspectIrreducible, selection.ProspectKept:
		return true
	case selection.ProspectRuntime, selection.ProspectUnsupported:
		return o.At.Sub(row.Last) > inUse
	}
	return false
}

// Tells says whether the look made an event.
func (r *MonitorReport) Tells() bool {
	return slices.ContainsFunc(r.Alerts, func(x monitor.Alert) bool { return x.Event != "" })
}

// State is what a report says is wrong, to be compared with another one. That it
// was told before is no other state.
func (r *MonitorReport) State() []string {
	lines := []string{fmt.Sprint(r.Waiting, r.Incomplete)}
	for _, alert := range r.Alerts {
		lines = append(lines, string(alert.Kind)+" "+alert.Subject)
	}
	for _, p := range r.Waits {
		lines = append(lines, "due "+p.What)
	}
	return lines
}

// LookedAt counts what was looked at. How many archives there were before a
// compaction made more is of no use.
func (r *MonitorReport) LookedAt() string {
	text := fmt.Sprintf("%s of %s in %s", wording.Plural(r.Sessions, "session"), wording.Plural(r.Agents, "agent"), wording.Plural(r.Stores, "store"))
	if !r.Compacted {
		text += ", " + wording.Plural(r.Archives, "archive")
	}
	return text
}

// MostHints bounds the hints of one look.
const MostHints = 8
