package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/front/pages"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addReportFlags(o *pages.ReportOptions, fs *pflag.FlagSet) {
	fs.StringVar(&o.HTML, "html", "", "write one HTML page to this `file`, - for stdout")
	fs.BoolVar(&o.Text, "text", false, "print the report as text (the default without --html)")
	fs.BoolVar(&o.Quick, "quick", false, "do not read the logs: without what they are made of and the largest records")
}

func newReportCommand(a *app) *cobra.Command {
	var o pages.ReportOptions
	c := &cobra.Command{
		Use:   "report",
		Short: "Show what fills contexts and disk, what is saved and proven, as a page",
		Long: `Show in one place what fills contexts and disk, how it grew, what runtimes will
delete and when, what was put away and what that saved, when archives were read
back and with what result, runs and failures, what waits, and the largest records
and what they are.

--html writes it as one page that needs no network and no script: it can be
opened, sent and printed. An earlier report there is replaced; a file that sessctl
did not write is not. Nothing else is changed. All logs are read in full for the
records that they are made of, unless --quick is given.`,
		Example: `  sessctl report
  sessctl report --html report.html
  sessctl report --quick --html - > report.html
  sessctl report --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(a.JSON, c.Flags().Changed("html")); err != nil {
				return err
			}
			return runReport(c.Context(), a, o)
		},
	}
	addReportFlags(&o, c.Flags())
	return c
}

func runReport(ctx context.Context, a *app, o pages.ReportOptions) error {
	if o.HTML != "" && o.HTML != "-" {
		if err := pages.CheckPage(workspace.Absolute(o.HTML)); err != nil {
			return err
		}
	}
	doc, err := audit.GatherReport(ctx, a.Run, unusableSettings(a), o.Quick)
	if err != nil {
		return err
	}
	if o.HTML != "" {
		if err := writeReport(a, o.HTML, doc); err != nil {
			return err
		}
	}
	switch {
	case a.JSON:
		return a.printJSON(doc)
	case o.Text || o.HTML == "":
		return printReport(a, doc)
	case o.HTML != "-":
		_, err := fmt.Fprintln(a.Out, recall.FileURL(workspace.Absolute(o.HTML)))
		return err
	}
	return nil
}

func writeReport(a *app, path string, doc report.Document) error {
	write := func(w io.Writer) error { return report.WriteHTML(w, doc, time.Local) }
	if path == "-" {
		out := bufio.NewWriter(a.Out)
		return errors.Join(write(out), out.Flush())
	}
	return pages.WritePage(workspace.Absolute(path), write)
}
