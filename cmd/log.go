package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addLogFlags(o *audit.LogOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "only sessions of this `agent` or runtime/agent")
	fs.StringSliceVar(&o.Actions, "action", nil, "only these `actions`: compacted, remembered, archived, undone, trash, purge and what else WHAT shows")
	fs.IntVar(&o.Limit, "limit", 20, "show the last `n`, 0 for all")
	fs.BoolVar(&o.Runs, "runs", false, "list the runs of profiles instead: which steps failed, and how long each took")
	fs.StringVar(&o.Since, "since", "", "only from this `time` on: 30d, 12h, 2026-03-01 or RFC 3339")
	addHostsFlags(&o.HostsOption, fs)
}

func newLogCommand(a *app) *cobra.Command {
	var o audit.LogOptions
	c := &cobra.Command{
		Use:   "log",
		Short: "List what was done: compactions, undos, archives, restores and deletions",
		Long: `List what earlier runs did, the newest first: sessions that were compacted or
remembered, undos, archives that archive made and that are still there, logs
that restore put back, and files that clean and archives prune deleted or
brought back. ID is the end of a receipt's id, which undo takes. FREED
is how much smaller a session's log became, or the size of a file that was purged.
TOKENS is the context before and after.

--runs lists the unattended runs of sessctl run, also those that were stopped or
killed. The newest 1,000 are kept, and of every profile the newest 50.`,
		Example: `  sessctl log
  sessctl log --agent coordinator --since 7d
  sessctl log --action compacted
  sessctl log --limit 0 --json
  sessctl log --runs --since 7d
  sessctl log --host alpha,beta`,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Limit < 0 {
				return failure.Usage("0 shows all", "--limit must not be negative")
			}
			if err := read(&o.HostsOption, c); err != nil {
				return err
			}
			switch {
			case o.Asked() && o.Runs:
				return runRunsOfHosts(c.Context(), a, o)
			case o.Asked():
				return runLogOfHosts(c.Context(), a, o)
			case o.Runs:
				return runLogOfRuns(c.Context(), a, o)
			}
			return runLog(c.Context(), a, o)
		},
	}
	addLogFlags(&o, c.Flags())
	return c
}

func runLog(ctx context.Context, a *app, o audit.LogOptions) error {
	since, err := audit.ParseTime(o.Since, a.Now())
	if err != nil {
		return failure.Usage("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "--since: %w", err)
	}
	rows, err := audit.LogRows(ctx, a.Run)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r audit.LogRow) bool {
		return !o.Wants(r) || !(selection.Scope{Runtime: a.Global.Runtime, Agent: o.Agent}).Holds(r.Runtime, r.Agent) || r.Time.UnixMilli() < since
	})
	if len(rows) == 0 {
		if err := selection.CheckAgent(ctx, a.Run, nil, o.Agent); err != nil {
			return err
		}
	}
	doc := audit.NewLogDocument(a.Run, o, rows)
	doc.NameProjects(selection.ShownNames(ctx, a.Run, a.OutTTY))
	return renderLog(a, o, doc)
}

// runLogOfHosts lists what was done on several hosts.
func runLogOfHosts(ctx context.Context, a *app, o audit.LogOptions) error {
	var rows []audit.LogRow
	hosts, outcome := askHosts(ctx, a, &o.HostsOption, func(host string, there audit.LogDocument) {
		for _, row := range there.Entries {
			if row.Host = host; !o.Wants(row) {
				continue
			}
			row.Time, _ = time.Parse(time.RFC3339, row.At) // one without a time is the oldest
			rows = append(rows, row)
		}
		recall.NoticeOf(a.Run, host, there.Notes)
	})
	if hosts == nil {
		return outcome
	}
	doc := audit.NewLogDocument(a.Run, o, rows)
	doc.Hosts = hosts
	return cmp.Or(renderLog(a, o, doc), outcome)
}

func renderLog(a *app, o audit.LogOptions, doc audit.LogDocument) error {
	if a.JSON {
		return a.printJSON(doc)
	}
	empty := "nothing was done yet"
	if o.Agent != "" || o.Since != "" || len(o.Actions) > 0 || a.Global.Runtime != "" {
		empty = "nothing that was done fits these options"
	}
	t := table{empty: empty, columns: []column{
		{name: "WHEN"}, {name: "ID"}, {name: "WHAT", least: 9}, {name: "RUNTIME", drop: 3}, {name: "AGENT", least: 8, middle: true}, {name: "SESSION", least: 8, middle: true}, {name: "TITLE", least: 12, drop: 4},
		{name: "TOKENS", right: true, drop: 2}, {name: "FREED", right: true, drop: 1}, {name: "UNDO", drop: 5},
	}}
	var rows [][]string
	var hosts []string
	for _, r := range doc.Entries {
		what := r.What()
		if r.UndoneBy != "" {
			what += ", undone"
		}
		id := ""
		if r.Receipt != "" {
			id = selection.ShortReceipt(r.Receipt)
		}
		undo := recall.OnHost(r.Host, r.Undo)
		hosts = append(hosts, r.Host)
		rows = append(rows, []string{wording.Visible(r.At), wording.Visible(id), wording.Visible(what), wording.Visible(r.Runtime), wording.Visible(r.Agent), wording.Visible(cmp.Or(r.Session, r.Path)), strconv.FormatInt(r.TokensBefore, 10), strconv.FormatInt(r.Freed, 10), wording.Visible(undo)})
		t.rows = append(t.rows, []string{wording.ShownTime(r.At), id, what, r.Runtime, cmp.Or(r.ProjectName, r.Agent), cmp.Or(r.Session, a.Tilde(r.Path)), r.Title, r.Tokens(), audit.Figure(r.Freed, wording.Bytes), undo})
	}
	t.footer = fmt.Sprintf("%s tokens out of contexts, %s freed; sessctl undo ID reverses a compaction", wording.Count(doc.TokensSaved), wording.Bytes(doc.Freed))
	return a.printListOf(doc.Hosts != nil, hosts, t, rows)
}
