package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/report"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type reportOptions struct {
	HTML  string
	Text  bool
	Quick bool
}

func (o *reportOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.HTML, "html", "", "write one HTML page to this `file`, - for stdout")
	fs.BoolVar(&o.Text, "text", false, "print the report as text (the default without --html)")
	fs.BoolVar(&o.Quick, "quick", false, "do not read the logs: without what they are made of and the largest records")
}

func (o *reportOptions) validate(asJSON, given bool) error {
	switch {
	case given && o.HTML == "":
		return failure.Usage("sessctl report --html report.html", "--html names no file")
	case o.HTML == "-" && (o.Text || asJSON):
		return failure.Usage("write the page to a file", "--html - goes with neither --text nor --json: both print on stdout")
	case o.Text && asJSON:
		return failure.Usage("--json prints all that the text says", "--text does not go with --json")
	}
	return nil
}

func newReportCommand(a *app) *cobra.Command {
	var o reportOptions
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
records that they are made of, unless --quick is given.
` + exitHelp,
		Example: `  sessctl report
  sessctl report --html report.html
  sessctl report --quick --html - > report.html
  sessctl report --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(a.JSON, c.Flags().Changed("html")); err != nil {
				return err
			}
			return runReport(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

func runReport(ctx context.Context, a *app, o reportOptions) error {
	if o.HTML != "" && o.HTML != "-" {
		if err := checkPage(workspace.Absolute(o.HTML)); err != nil {
			return err
		}
	}
	doc, err := a.gatherReport(ctx, o)
	if err != nil {
		return err
	}
	if o.HTML != "" {
		if err := a.writeReport(o.HTML, doc); err != nil {
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

func (a *app) writeReport(path string, doc report.Document) error {
	write := func(w io.Writer) error { return report.WriteHTML(w, doc, time.Local) }
	if path == "-" {
		out := bufio.NewWriter(a.Out)
		return errors.Join(write(out), out.Flush())
	}
	return writePage(workspace.Absolute(path), write)
}

// writePage writes a document that people open in a browser. It takes the place
// of an earlier one, whose permissions it keeps, and of no other file.
func writePage(path string, write func(io.Writer) error) error {
	perm := os.FileMode(0o600)
	if old, err := os.Lstat(path); err == nil && old.Mode().IsRegular() {
		perm = old.Mode().Perm()
	}
	err := durable.ReplaceChecked(path, perm, func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 64<<10)
		return errors.Join(write(out), out.Flush())
	}, func(string) error { return checkPage(path) })
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// checkPage refuses to replace what is no document of ours.
func checkPage(path string) error {
	return workspace.CheckReplaced(path, "--html", report.Mark, "make the directory first")
}
