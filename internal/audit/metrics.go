package audit

import (
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/metrics"
)

// MetricsOptions are the options of metrics.
type MetricsOptions struct {
	Textfile string
}

// RunTotals counts all runs that have ended, by outcome.
func RunTotals(ctx context.Context, run *workspace.Run) (map[string]int64, error) {
	listed, err := ListedRuns(ctx, run)
	if err != nil {
		return nil, err
	}
	counts, err := OpenRuns(run).Totals(ctx, func(r operate.RunRecord) bool {
		return slices.ContainsFunc(listed, func(l operate.RunRecord) bool { return l.ID == r.ID && l.Outcome == operate.Running })
	})
	totals := map[string]int64{}
	for _, outcome := range []operate.Outcome{operate.OK, operate.Partial, operate.Failed, operate.Busy, operate.Damaged, operate.Interrupted} {
		totals[string(outcome)] = counts[outcome] // 0 too: a counter that begins at 1 is not seen to grow
	}
	return totals, err
}

// Reading is what was observed, as figures.
func (o *Observed) Reading(version string) metrics.Reading {
	r := metrics.Reading{
		Version: version, Go: runtime.Version(), Time: o.At, Threshold: o.limit.Tokens, Percent: o.limit.Percent, Due: o.due(), Unreadable: o.Broken(), Unread: o.unreadByCause(), Agents: o.agents(), Events: o.Events,
	}
	for _, d := range o.Disks {
		r.Disks = append(r.Disks, metrics.Disk{Directory: d.Path, Free: d.Free})
	}
	if o.ArchivesSeen {
		r.Archives = &metrics.Archives{Count: len(o.Entries), Damaged: len(o.Damaged)}
	}
	if o.memory != nil {
		r.Memory = &metrics.Memory{Bytes: o.memory.Bytes, Records: o.memory.Records}
	}
	if o.RunsSeen {
		r.Runs = &metrics.Runs{}
		for _, p := range o.Profiles() {
			profile := metrics.Profile{Profile: p.Profile}
			if !p.Never {
				profile.Success = p.Success
			}
			last := slices.IndexFunc(o.Runs, func(r operate.RunRecord) bool { return r.Profile == p.Profile && r.Ended() })
			if last >= 0 {
				profile.Duration = time.Duration(o.Runs[last].Seconds * float64(time.Second))
			}
			r.Runs.Profiles = append(r.Runs.Profiles, profile)
		}
	}
	return r
}

// due counts the sessions that are due, by what made them so.
func (o *Observed) due() (n metrics.Due) {
	for _, s := range o.mainSessions() {
		switch {
		case !s.Over || s.Unused:
		case s.DueBy == string(compact.DueByShare):
			n.Share++
		case s.DueBy == string(compact.DueByTokens):
			n.Tokens++
		default:
			n.Runtime++
		}
	}
	return n
}

// agents are the figures of each agent.
func (o *Observed) agents() []metrics.Agent {
	var all []metrics.Agent
	of := func(runtime, agent string, figure metrics.Agent) {
		figure.Runtime, figure.Agent = runtime, agent
		all = append(all, figure) // those of one agent are added up
	}
	for i := range o.Sessions {
		of(o.Sessions[i].Runtime, o.Sessions[i].Agent, metrics.Agent{LogBytes: o.Sessions[i].Bytes})
	}
	for _, s := range o.mainSessions() {
		figure := metrics.Agent{Sessions: 1, Tokens: s.Tokens}
		if s.Over && !s.Unused {
			figure.Over = 1
		}
		if s.ContextWindow > 0 {
			figure.Ratio = math.Round(1e4*float64(s.Tokens)/float64(s.ContextWindow)) / 1e4
		}
		of(s.Runtime, s.Agent, figure)
	}
	for _, e := range o.Entries {
		of(e.Runtime, e.Agent, metrics.Agent{ArchiveBytes: e.StoredBytes})
	}
	for _, p := range o.purges() {
		of(p.Runtime, p.Agent, metrics.Agent{Purge: p.Deadline})
	}
	if o.memory != nil {
		for _, w := range o.memory.Waiting {
			of(w.Runtime, w.Agent, metrics.Agent{Pending: int64(w.Records)})
		}
	}
	return all
}

// TextfileMark is the first line of a file of metrics: by it we know our own.
const TextfileMark = "# Written by sessctl metrics --textfile.\n"

// CheckTextfile refuses to replace what sessctl did not write.
func CheckTextfile(path string) error {
	return workspace.CheckReplaced(path, "--textfile", TextfileMark, "make the directory; tell node_exporter about it with --collector.textfile.directory")
}
