package cmd

import (
	"fmt"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/spf13/cobra"
)

func newMemoryRedactCommand(a *app) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use:   "redact",
		Short: "Redact the secrets that older rules left in the memory",
		Long: `Apply today's rules for secrets to everything that the memory holds: what was
said and done, summaries, facts, and agents' own words. A value that is a secret in
one place is redacted in all. What changes gets new words and vectors, and replaces
what the shared memory has. Archives are not touched.`,
		Example: `  sessctl memory redact --dry-run
  sessctl memory redact`,
		RunE: func(c *cobra.Command, _ []string) error {
			redact := recall.Redact
			if dryRun {
				redact = recall.PreviewRedact
			}
			doc, err := redact(c.Context(), a.Run)
			if err != nil {
				return err
			}
			return renderRedact(a, doc)
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "count what would be redacted and change nothing")
	return c
}

func renderRedact(a *app, doc recall.RedactDocument) (err error) {
	if doc.Notes = a.Notes; a.JSON {
		err = a.printJSON(doc)
	} else {
		_, err = fmt.Fprint(a.Out, recall.DescribeRedact(doc))
	}
	if err != nil || !doc.Unwiped {
		return err
	}
	return &failure.Outcome{Exit: failure.ExitPartly}
}
