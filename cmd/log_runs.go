package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
)

// runLogOfRuns is log --runs.
func runLogOfRuns(ctx context.Context, a *app, o audit.LogOptions) error {
	doc, err := audit.RunsOf(ctx, a.Run, o)
	if err != nil {
		return err
	}
	return renderRuns(a, doc)
}

// runRunsOfHosts is log --runs of several hosts.
func runRunsOfHosts(ctx context.Context, a *app, o audit.LogOptions) error {
	var rows []audit.RunRow
	hosts, outcome := askHosts(ctx, a, &o.HostsOption, func(host string, there audit.RunsDocument) {
		for _, row := range there.Runs {
			row.Host = host
			rows = append(rows, row)
		}
		recall.NoticeOf(a.Run, host, there.Notes)
	})
	if hosts == nil {
		return outcome
	}
	doc := audit.NewRunsDocument(a.Run, o, rows)
	doc.Hosts = hosts
	return cmp.Or(renderRuns(a, doc), outcome)
}

func renderRuns(a *app, doc audit.RunsDocument) error {
	if a.JSON {
		return a.printJSON(doc)
	}
	t := table{empty: "no profile was run yet", columns: []column{
		{name: "WHEN"}, {name: "ID", drop: 3}, {name: "PROFILE", least: 8}, {name: "OUTCOME"}, {name: "TOOK", right: true, drop: 1}, {name: "CHANGED", right: true, drop: 2},
		{name: "LOGS", right: true, drop: 4}, {name: "WHY", least: 16},
	}}
	var rows [][]string
	var hosts []string
	for _, r := range doc.Runs {
		at, id, why := r.Started.UTC().Format(time.RFC3339), selection.ShortReceipt(r.ID), r.Why()
		hosts = append(hosts, r.Host)
		rows = append(rows, []string{at, wording.Visible(id), wording.Visible(r.Profile), wording.Visible(string(r.Outcome)), steps.Seconds(r.Seconds), strconv.Itoa(r.Changed()), strconv.FormatInt(r.BytesAfter.Logs, 10), wording.Visible(why)})
		t.rows = append(t.rows, []string{wording.ShownTime(at), id, r.Profile, string(r.Outcome), steps.Took(r.Seconds), wording.Count(int64(r.Changed())), audit.Figure(r.BytesAfter.Logs, wording.Bytes), why})
	}
	t.footer = fmt.Sprintf("%s; sessctl log --runs --json has the steps of each", wording.Plural(len(doc.Runs), "run"))
	return a.printListOf(doc.Hosts != nil, hosts, t, rows)
}
