package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate"
)

// runsDocument is `log --runs --json` (docs/json.md).
type runsDocument struct {
	Schema int          `json:"schema"`
	Runs   []runRow     `json:"runs"` // the newest first
	Notes  []note       `json:"notes"`
	Hosts  []hostAnswer `json:"hosts,omitempty"` // of --host
}

// runRow is one run.
type runRow struct {
	Host string `json:"host,omitempty"` // with --host
	operate.RunRecord
}

// runLogOfRuns is log --runs.
func runLogOfRuns(ctx context.Context, a *app, o logOptions) error {
	doc, err := a.runsOf(ctx, o)
	if err != nil {
		return err
	}
	return renderRuns(a, doc)
}

// runsOf are the runs that the options mean.
func (a *invocation) runsOf(ctx context.Context, o logOptions) (runsDocument, error) {
	if o.Agent != "" || a.global.Runtime != "" {
		return runsDocument{}, usageError("a run covers all sessions; without --runs the log shows what became of each", "--runs goes with neither --agent nor --runtime")
	}
	since, err := parseTime(o.Since, a.now())
	if err != nil {
		return runsDocument{}, usageError("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "--since: %w", err)
	}
	runs, err := a.listedRuns(ctx)
	if err != nil {
		return runsDocument{}, err
	}
	runs = slices.DeleteFunc(runs, func(r operate.RunRecord) bool { return r.Started.UnixMilli() < since })
	rows := make([]runRow, len(runs))
	for i := range runs {
		rows[i].RunRecord = runs[i]
	}
	return newRunsDocument(a, o, rows), nil
}

// newRunsDocument lists the newest of these runs.
func newRunsDocument(a *invocation, o logOptions, rows []runRow) runsDocument {
	return runsDocument{Schema: 1, Runs: newest(rows, o.Limit, func(r runRow) time.Time { return r.Started }), Notes: a.notes}
}

// runRunsOfHosts is log --runs of several hosts.
func runRunsOfHosts(ctx context.Context, a *app, o logOptions) error {
	var rows []runRow
	hosts, outcome := askHosts(ctx, a, &o.hostsOption, func(host string, there runsDocument) {
		for _, row := range there.Runs {
			row.Host = host
			rows = append(rows, row)
		}
		a.noticeOf(host, there.Notes)
	})
	if hosts == nil {
		return outcome
	}
	doc := newRunsDocument(a.invocation, o, rows)
	doc.Hosts = hosts
	return cmp.Or(renderRuns(a, doc), outcome)
}

// listedRuns are the records of all runs, the newest first. The one that is at
// work says so.
func (a *invocation) listedRuns(ctx context.Context) ([]operate.RunRecord, error) {
	return a.listedRunsIn(ctx, a.dataDir())
}

// listedRunsIn is listedRuns of a data directory.
func (a *invocation) listedRunsIn(ctx context.Context, data string) ([]operate.RunRecord, error) {
	runs, err := a.earlierRunsIn(ctx, data)
	if err != nil {
		return nil, err
	}
	lock, err := durable.LookAtLock(filepath.Join(data, "lock"))
	if err != nil || !lock.Held {
		return runs, nil // then none is at work
	}
	holder := lock.Process
	if a.held != nil {
		holder = os.Getpid()
	}
	for i := range runs {
		if !runs[i].Ended() && runs[i].Process == holder {
			runs[i].Outcome = operate.Running
			break // a process has one run at a time: older ones of its number were another's
		}
	}
	return runs, nil
}

func renderRuns(a *app, doc runsDocument) error {
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
		at, id, why := r.Started.UTC().Format(time.RFC3339), shortReceipt(r.ID), whyOf(r.RunRecord)
		hosts = append(hosts, r.Host)
		rows = append(rows, []string{at, visible(id), visible(r.Profile), visible(string(r.Outcome)), seconds(r.Seconds), strconv.Itoa(r.Changed()), strconv.FormatInt(r.BytesAfter.Logs, 10), visible(why)})
		t.rows = append(t.rows, []string{shownTime(at), id, r.Profile, string(r.Outcome), took(r.Seconds), formatCount(int64(r.Changed())), figure(r.BytesAfter.Logs, formatBytes), why})
	}
	t.footer = fmt.Sprintf("%s; sessctl log --runs --json has the steps of each", plural(len(doc.Runs), "run"))
	return a.printListOf(doc.Hosts != nil, hosts, t, rows)
}

// whyOf says why a run did not end well: of its steps the first that did not.
func whyOf(r operate.RunRecord) string {
	if r.Reason != "" || r.Outcome == operate.OK {
		return r.Reason
	}
	for _, s := range r.Steps {
		if s.Outcome == r.Outcome || s.Outcome != operate.OK && r.Outcome == operate.Partial {
			return stepTitle(s) + ": " + cmp.Or(s.Reason, s.Summary, string(s.Outcome))
		}
	}
	return ""
}
