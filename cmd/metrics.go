package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/metrics"
	"github.com/spf13/cobra"
)

type metricsOptions struct {
	Textfile string
}

func newMetricsCommand(a *app) *cobra.Command {
	var o metricsOptions
	c := &cobra.Command{
		Use:   "metrics",
		Short: "Print metrics of sessions, archives, memory and runs for Prometheus",
		Long: `Print figures of sessions, archives, memory, runs, events and disks in the text
format of Prometheus; docs/monitor.md lists them. --textfile puts them into a
file for node_exporter's textfile collector instead: the file is complete at any
time, and everybody may read it. A file of that name that sessctl did not write
is not replaced.

What cannot be looked at has no series; the exit code is 3 then.
` + exitHelp,
		Example: `  sessctl metrics
  sessctl metrics --textfile /var/lib/node_exporter/textfile/sessctl.prom`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("textfile") {
				return writeTextfile(c.Context(), a, o.Textfile)
			}
			return a.metricsText(c.Context(), a.Out)
		},
	}
	c.Flags().StringVar(&o.Textfile, "textfile", "", "write them to `file`, whose name ends in .prom")
	return c
}

// metricsText writes all metrics in the text format of Prometheus. What cannot be
// looked at is told and left out.
func (a *app) metricsText(ctx context.Context, w io.Writer) error {
	seen, err := a.observe(ctx, lookOptions{threshold: a.config.Compaction.Threshold})
	if f := (*failure)(nil); errors.As(err, &f) && f.code == "no_store" {
		a.notice(note{Message: f.Error(), Hint: f.hint}) // runs and archives are there without one
	} else if err != nil {
		return err
	}
	for _, n := range seen.failures {
		a.passOver(n)
	}
	a.incomplete += len(seen.unread)
	reading := seen.reading(a.version)
	if reading.Runs != nil {
		if reading.Runs.Total, err = a.runTotals(ctx); err != nil {
			a.passOver(note{Path: a.runsDir(), Message: err.Error()})
		}
	}
	return metrics.Write(w, reading)
}

// runTotals counts all runs that have ended, by outcome.
func (a *invocation) runTotals(ctx context.Context) (map[string]int64, error) {
	listed, err := a.listedRuns(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := a.openRuns().Totals(ctx, func(r operate.RunRecord) bool {
		return slices.ContainsFunc(listed, func(l operate.RunRecord) bool { return l.ID == r.ID && l.Outcome == operate.Running })
	})
	totals := map[string]int64{}
	for _, outcome := range []operate.Outcome{operate.OK, operate.Partial, operate.Failed, operate.Busy, operate.Damaged, operate.Interrupted} {
		totals[string(outcome)] = counts[outcome] // 0 too: a counter that begins at 1 is not seen to grow
	}
	return totals, err
}

// reading is what was observed, as figures.
func (o *observed) reading(version string) metrics.Reading {
	r := metrics.Reading{
		Version: version, Go: runtime.Version(), Time: o.at, Threshold: o.limit, Unreadable: len(o.unread), Agents: o.agents(), Events: o.events,
	}
	for _, d := range o.disks {
		r.Disks = append(r.Disks, metrics.Disk{Directory: d.Path, Free: d.Free})
	}
	if o.archivesSeen {
		r.Archives = &metrics.Archives{Count: len(o.entries), Damaged: len(o.damaged)}
	}
	if o.memory != nil {
		r.Memory = &metrics.Memory{Bytes: o.memory.Bytes, Records: o.memory.Records}
	}
	if o.runsSeen {
		r.Runs = &metrics.Runs{}
		for _, p := range o.profiles() {
			profile := metrics.Profile{Profile: p.Profile}
			if !p.Never {
				profile.Success = p.Success
			}
			last := slices.IndexFunc(o.runs, func(r operate.RunRecord) bool { return r.Profile == p.Profile && r.Ended() })
			if last >= 0 {
				profile.Duration = time.Duration(o.runs[last].Seconds * float64(time.Second))
			}
			r.Runs.Profiles = append(r.Runs.Profiles, profile)
		}
	}
	return r
}

// agents are the figures of each agent.
func (o *observed) agents() []metrics.Agent {
	var all []metrics.Agent
	of := func(runtime, agent string, figure metrics.Agent) {
		figure.Runtime, figure.Agent = runtime, agent
		all = append(all, figure) // those of one agent are added up
	}
	for i := range o.sessions {
		of(o.sessions[i].Runtime, o.sessions[i].Agent, metrics.Agent{LogBytes: o.sessions[i].Bytes})
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
	for _, e := range o.entries {
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

// textfileMark is the first line of a file of metrics: by it we know our own.
const textfileMark = "# Written by sessctl metrics --textfile.\n"

// writeTextfile puts the metrics into a file that another user's program reads.
func writeTextfile(ctx context.Context, a *app, path string) error {
	if !strings.HasSuffix(path, ".prom") {
		return usageError("node_exporter reads files whose names end in .prom", "--textfile: %q does not end in .prom", path)
	}
	path = absolute(path)
	if err := checkTextfile(path); err != nil {
		return err
	}
	var text bytes.Buffer
	text.WriteString(textfileMark)
	if err := a.metricsText(ctx, &text); err != nil {
		return err
	}
	err := durable.ReplaceFile(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(text.Bytes())
		return err
	})
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// checkTextfile refuses to replace what sessctl did not write.
func checkTextfile(path string) error {
	return checkReplaced(path, "--textfile", textfileMark, "make the directory; tell node_exporter about it with --collector.textfile.directory")
}
