package cmd

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addSizesFlags(o *selection.SizesOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "only sessions of this `agent` or runtime/agent")
	fs.Var(&o.Threshold, "threshold", "mark sessions of at least this many `tokens`, or of this share of their window, such as 80% (default 150000,80%)")
	fs.BoolVar(&o.Over, "over", false, "only sessions at or over the threshold")
	fs.StringVar(&o.Sort, "sort", "tokens", "sort by `key`: tokens, bytes, age or agent")
	fs.BoolVar(&o.All, "all", false, "also closed logs, backups and checkpoints that the runtime keeps")
	fs.BoolVar(&o.ByType, "by-type", false, "show what fills the logs: bytes by type of record, base64, repeated text")
	fs.BoolVar(&o.Orphans, "orphans", false, "only sessions that the runtime's index does not name")
	fs.BoolVar(&o.NoCache, "no-cache", false, "read every log, also those that have not changed since the last run")
	addHostsFlags(&o.HostsOption, fs)
	fromConfig(fs, "threshold", "compaction.threshold")
}

func newSizesCommand(a *app) *cobra.Command {
	var o selection.SizesOptions
	c := &cobra.Command{
		Use:   "sizes",
		Short: "Show how full every session's context is",
		Long: `Show, for every session, how many tokens its context holds, where that figure
comes from, and whether it is large enough for compact --all: at or over the
threshold, or, where none is given, by the runtime's own rule if it has one.

The figure is the last model call's own count plus an estimate of what was added
since ("usage"), or an estimate of everything ("estimate"). A log is read when it
has changed since the last run.`,
		Example: `  sessctl sizes
  sessctl sizes --over
  sessctl sizes --by-type --all
  sessctl sizes --agent coordinator --json
  sessctl sizes --over --host alpha,beta`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.ThresholdAsked = c.Flags().Changed("threshold")
			if err := cmp.Or(o.Validate(), read(&o.HostsOption, c)); err != nil {
				return err
			}
			if o.Asked() {
				return runSizesOfHosts(c.Context(), a, o)
			}
			return runSizes(c.Context(), a, o)
		},
	}
	addSizesFlags(&o, c.Flags())
	return c
}

func runSizes(ctx context.Context, a *app, o selection.SizesOptions) error {
	if o.ByType {
		all, err := selection.SessionsFor(ctx, a.Run, o)
		if err != nil {
			return err
		}
		return runTypes(ctx, a, all.Sessions)
	}
	doc, err := selection.Sizes(ctx, a.Run, o)
	if err != nil {
		return err
	}
	doc.NameProjects(selection.ShownNames(ctx, a.Run, a.OutTTY))
	return renderSizes(a, doc)
}

// runSizesOfHosts shows the sessions of several hosts in one list.
func runSizesOfHosts(ctx context.Context, a *app, o selection.SizesOptions) error {
	doc := selection.SizesDocument{Schema: 1, Sessions: []*selection.SessionRow{}, Unread: []workspace.UnreadRow{}}
	answered := 0
	var outcome error
	doc.Hosts, outcome = askHosts(ctx, a, &o.HostsOption, func(host string, there selection.SizesDocument) {
		there.Sessions = slices.DeleteFunc(there.Sessions, func(row *selection.SessionRow) bool { return row == nil })
		for _, row := range there.Sessions {
			row.Host = host
			row.Last, _ = time.Parse(time.RFC3339, row.LastActivity) // without one the row says that it is idle for long
		}
		if answered++; answered == 1 {
			doc.Threshold, doc.Share = there.Threshold, there.Share
		} else if doc.Threshold != there.Threshold || doc.Share != there.Share {
			doc.Threshold, doc.Share = 0, 0
		}
		doc.Sessions, doc.Measured = append(doc.Sessions, there.Sessions...), doc.Measured+len(there.Sessions)
		recall.NoticeOf(a.Run, host, there.Notes)
	})
	if doc.Hosts == nil {
		return outcome
	}
	selection.SortRows(doc.Sessions, o.Sort)
	doc.Notes = a.Notes
	return cmp.Or(renderSizes(a, doc), outcome)
}

// renderSizes prints the table on a terminal, else tab-separated rows.
func renderSizes(a *app, doc selection.SizesDocument) error {
	switch {
	case a.JSON:
		return a.printJSON(doc)
	case !a.OutTTY:
		return a.printEach(selection.SizesRows(doc))
	case doc.Hosts != nil:
		hosts := make([]string, len(doc.Sessions))
		for i, s := range doc.Sessions {
			hosts[i] = s.Host
		}
		return a.printTable(sizesTable(&a.Run.Settings, doc).hostColumn(hosts))
	}
	return a.printTable(sizesTable(&a.Run.Settings, doc))
}

// sizesTable is the page for people.
func sizesTable(a *workspace.Settings, doc selection.SizesDocument) table {
	t := table{
		empty: "no sessions",
		columns: []column{
			{name: "AGENT", least: 10, middle: true}, {name: "SESSION", least: 12, middle: true}, {name: "TITLE", least: 16, drop: 1}, {name: "RUNTIME", drop: 4}, {name: "TOKENS", right: true}, {name: "CONTEXT", drop: 3},
			{name: "SOURCE", drop: 7}, {name: "SIZE", right: true, drop: 5}, {name: "MESSAGES", right: true, drop: 6}, {name: "IDLE", right: true, drop: 2}, {name: "STATE", least: 10},
		},
	}
	for _, s := range doc.Sessions {
		t.rows = append(t.rows, selection.SizesCells(a, s))
	}
	const tokens, context, state = 4, 5, 10
	t.warn = func(row, column int) bool {
		s := doc.Sessions[row]
		return s.Over && (column == tokens || column == context) || s.Unreadable && column == state
	}
	t.footer = doc.Footer()
	return t
}
