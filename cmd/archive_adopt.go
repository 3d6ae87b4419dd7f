package cmd

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
)

func newArchiveAdoptCommand(a *app) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use:   "adopt",
		Short: "Enter archives again whose entry is lost",
		Long: `Enters archives again that the ledger names, whose entry in the catalogue is lost
and whose file is still there. The file is read in full and must have the hash that
the ledger has. Exit code 4: of some no such file was found.`,
		Example: "  sessctl archives adopt --dry-run\n  sessctl archives adopt",
		RunE:    func(c *cobra.Command, _ []string) error { return runArchiveAdopt(c.Context(), a, dryRun) },
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only list the archives whose entry is lost")
	return c
}

func runArchiveAdopt(ctx context.Context, a *app, dryRun bool) error {
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{DryRun: dryRun, Reason: "archive"})
	if err != nil {
		return err
	}
	defer w.Close()
	doc, err := audit.Adopt(ctx, a.Run, w.Archives, dryRun)
	if err != nil {
		return err
	}
	doc.Notes = a.Notes
	if a.JSON {
		err = a.printJSON(doc)
	} else {
		_, err = io.WriteString(a.Out, audit.DescribeAdopted(doc))
	}
	if err == nil && len(doc.Missing) > 0 && !dryRun {
		err = &failure.Outcome{Exit: failure.ExitIntegrity}
	}
	return err
}
