package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/fleet"
	"github.com/sessctl/sessctl/internal/front/pages"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/spf13/cobra"
)

func newStatusCommand(a *app) *cobra.Command {
	var o selection.HostsOption
	var ofFleet bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Say whether anything is wrong, and what to type",
		Long: `One screen for the morning: what is wrong and the command that mends it, what is
due, how the last run of each profile ended, what no archive has yet, what a
runtime is going to delete, what compaction has saved, and when the archives
were last read. Nothing is changed, and no event is sent.

"all is well" is printed only where every store could be read, the last run of
every profile ended well, no profile has settings that a run would refuse, no
check has found damage, and nothing is due. With --quiet nothing is printed then,
so that cron mails only what is worth reading. The exit code is 3 where something
is wrong or could not be looked at.`,
		Example: `  sessctl status
  sessctl status --quiet
  sessctl status --host alpha,beta
  sessctl status --fleet`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := read(&o, c); err != nil {
				return err
			}
			if o.Asked() {
				return runStatusOfHosts(c.Context(), a, o)
			}
			return runStatus(c.Context(), a, ofFleet)
		},
	}
	addHostsFlags(&o, c.Flags())
	c.Flags().BoolVar(&ofFleet, "fleet", false, "say too which hosts of the shared memory have been silent")
	return c
}

func runStatus(ctx context.Context, a *app, ofFleet bool) error {
	doc, err := audit.Status(ctx, a.Run, unusableSettings(a))
	if err != nil {
		return err
	}
	if ofFleet {
		fleet.Warn(ctx, a.Run, &doc)
	}
	if doc.Notes = a.Notes; a.JSON {
		err = a.printJSON(doc)
	} else if !doc.Well || !a.Quiet {
		_, err = io.WriteString(a.Out, pages.Status(a.Run, &doc))
	}
	return cmp.Or(err, statusOutcome(&doc))
}

// runStatusOfHosts prints the status of several hosts, one after the other.
func runStatusOfHosts(ctx context.Context, a *app, o selection.HostsOption) error {
	doc := audit.StatusDocument{Schema: 1, Well: true}
	hosts, outcome := askHosts(ctx, a, &o, func(host string, there audit.StatusDocument) {
		there.Host = host
		doc.Well = doc.Well && there.Well
		doc.There = append(doc.There, there)
		recall.NoticeOf(a.Run, host, there.Notes)
	})
	if hosts == nil {
		return outcome
	}
	if doc.Hosts, doc.Notes = hosts, a.Notes; a.JSON {
		return cmp.Or(a.printJSON(doc), outcome, statusOutcome(&doc))
	}
	for i := range doc.There {
		there := &doc.There[i]
		if there.Well && a.Quiet {
			continue
		}
		if _, err := fmt.Fprintf(a.Out, "%s: %s", wording.Visible(there.Host), pages.Status(a.Run, there)); err != nil {
			return err
		}
	}
	return cmp.Or(outcome, statusOutcome(&doc))
}

// statusOutcome is the exit code: that something is wrong was printed.
func statusOutcome(doc *audit.StatusDocument) error {
	for i := range doc.There {
		if err := statusOutcome(&doc.There[i]); err != nil {
			return err
		}
	}
	if len(doc.Wrong) > 0 {
		return &failure.Outcome{Exit: failure.ExitPartly}
	}
	return nil
}
