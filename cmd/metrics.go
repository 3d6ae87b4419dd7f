package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/metrics"
	"github.com/spf13/cobra"
)

func newMetricsCommand(a *app) *cobra.Command {
	var o audit.MetricsOptions
	c := &cobra.Command{
		Use:   "metrics",
		Short: "Print metrics of sessions, archives, memory and runs for Prometheus",
		Long: `Print figures of sessions, archives, memory, runs, events and disks in the text
format of Prometheus; docs/monitor.md lists them. --textfile puts them into a
file for node_exporter's textfile collector instead: the file is complete at any
time, and everybody may read it. A file of that name that sessctl did not write
is not replaced.

What cannot be looked at has no series; the exit code is 3 then.`,
		Example: `  sessctl metrics
  sessctl metrics --textfile /var/lib/node_exporter/textfile/sessctl.prom`,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("textfile") {
				return writeTextfile(c.Context(), a, o.Textfile)
			}
			return metricsText(c.Context(), a, a.Out)
		},
	}
	c.Flags().StringVar(&o.Textfile, "textfile", "", "write them to `file`, whose name ends in .prom")
	return c
}

// metricsText writes all metrics in the text format of Prometheus. What cannot be
// looked at is told and left out.
func metricsText(ctx context.Context, a *app, w io.Writer) error {
	seen, err := observe(ctx, a, audit.LookOptions{Threshold: a.Config.Compaction.Due()})
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Code == "no_store" {
		a.Notice(workspace.Note{Message: f.Error(), Hint: f.Hint}) // runs and archives are there without one
	} else if err != nil {
		return err
	}
	for _, n := range seen.Failures {
		a.PassOver(n)
	}
	a.Incomplete += seen.Broken()
	reading := seen.Reading(a.Version)
	if reading.Runs != nil {
		if reading.Runs.Total, err = audit.RunTotals(ctx, a.Run); err != nil {
			a.PassOver(workspace.Note{Path: a.RunsDir(), Message: err.Error()})
		}
	}
	return metrics.Write(w, reading)
}

// writeTextfile puts the metrics into a file that another user's program reads.
func writeTextfile(ctx context.Context, a *app, path string) error {
	if !strings.HasSuffix(path, ".prom") {
		return failure.Usage("node_exporter reads files whose names end in .prom", "--textfile: %q does not end in .prom", path)
	}
	path = workspace.Absolute(path)
	if err := audit.CheckTextfile(path); err != nil {
		return err
	}
	var text bytes.Buffer
	text.WriteString(audit.TextfileMark)
	if err := metricsText(ctx, a, &text); err != nil {
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
