package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type logOptions struct {
	Agent string
	Limit int
	Since string
	Runs  bool
	hostsOption
}

func (o *logOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "only sessions of this `agent`")
	fs.IntVar(&o.Limit, "limit", 20, "show the last `n`, 0 for all")
	fs.BoolVar(&o.Runs, "runs", false, "list the runs of profiles instead: which steps failed, and how long each took")
	fs.StringVar(&o.Since, "since", "", "only from this `time` on: 30d, 12h, 2026-03-01 or RFC 3339")
	o.hostsOption.addFlags(fs)
}

func newLogCommand(a *app) *cobra.Command {
	var o logOptions
	c := &cobra.Command{
		Use:   "log",
		Short: "List what was done: compactions, undos, archives, restores and deletions",
		Long: `List what earlier runs did, the newest first: sessions that were compacted or
remembered, undos, archives that archive made and that are still there, logs
that archive restore put back, and files that clean and archive prune deleted or
brought back. ID is the end of a receipt's id, which compact --undo takes. FREED
is how much smaller a session's log became, or the size of a file that was purged.

--runs lists the unattended runs of sessctl run, also those that were stopped or
killed. The newest 1,000 are kept, and of every profile the newest 50.
` + exitHelp,
		Example: `  sessctl log
  sessctl log --agent coordinator --since 7d
  sessctl log --limit 0 --json
  sessctl log --runs --since 7d
  sessctl log --host alpha,beta`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Limit < 0 {
				return usageError("0 shows all", "--limit must not be negative")
			}
			if err := o.read(c); err != nil {
				return err
			}
			switch {
			case o.asked() && o.Runs:
				return runRunsOfHosts(c.Context(), a, o)
			case o.asked():
				return runLogOfHosts(c.Context(), a, o)
			case o.Runs:
				return runLogOfRuns(c.Context(), a, o)
			}
			return runLog(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// logDocument is `log --json` (docs/json.md).
type logDocument struct {
	Schema  int      `json:"schema"`
	Entries []logRow `json:"entries"` // the newest first
	Freed   int64    `json:"freed_bytes"`
	Notes   []note   `json:"notes"`

	Hosts []hostAnswer `json:"hosts,omitempty"` // of --host
}

// logRow is one thing that was done: a receipt, or a line of the audit log.
type logRow struct {
	Host         string `json:"host,omitempty"` // with --host
	At           string `json:"at"`             // RFC 3339, UTC
	Receipt      string `json:"receipt"`        // its id, "" for a line of the audit log
	Action       string `json:"action"`         // the outcome of the receipt, archived, or trash, purge, undelete, restore
	Runtime      string `json:"runtime"`
	Agent        string `json:"agent"`
	Session      string `json:"session"`
	Path         string `json:"path"`
	Strategy     string `json:"strategy"`
	TokensBefore int64  `json:"tokens_before"`
	TokensAfter  int64  `json:"tokens_after"`
	Freed        int64  `json:"freed_bytes"`
	Archive      string `json:"archive"`   // id, or ""
	UndoneBy     string `json:"undone_by"` // id of the receipt of the undo, or ""
	Undo         string `json:"undo"`      // the command that reverses it, "" if none does
	Caller       string `json:"caller_id"` // who asked a server for it, "" for everything else

	time time.Time
}

func runLog(ctx context.Context, a *app, o logOptions) error {
	since, err := parseTime(o.Since, a.now())
	if err != nil {
		return usageError("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "--since: %w", err)
	}
	rows, err := a.logRows(ctx)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r logRow) bool {
		return !(scope{a.global.Runtime, o.Agent}).holds(r.Runtime, r.Agent) || r.time.UnixMilli() < since
	})
	if len(rows) == 0 {
		if err := a.checkAgent(ctx, nil, o.Agent); err != nil {
			return err
		}
	}
	return renderLog(a, newLogDocument(a.invocation, o, rows))
}

// newLogDocument lists the newest of these rows.
func newLogDocument(a *invocation, o logOptions, rows []logRow) logDocument {
	doc := logDocument{Schema: 1, Entries: newest(rows, o.Limit, logRow.when), Notes: a.notes}
	for _, r := range doc.Entries {
		doc.Freed += r.Freed
	}
	return doc
}

// newest are so many rows, 0 for all, the newest first.
func newest[Row any](rows []Row, limit int, at func(Row) time.Time) []Row {
	slices.SortStableFunc(rows, func(x, y Row) int { return at(y).Compare(at(x)) })
	if limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	return append([]Row{}, rows...)
}

// runLogOfHosts lists what was done on several hosts.
func runLogOfHosts(ctx context.Context, a *app, o logOptions) error {
	var rows []logRow
	hosts, outcome := askHosts(ctx, a, &o.hostsOption, func(host string, there logDocument) {
		for _, row := range there.Entries {
			row.Host = host
			row.time, _ = time.Parse(time.RFC3339, row.At) // one without a time is the oldest
			rows = append(rows, row)
		}
		a.noticeOf(host, there.Notes)
	})
	if hosts == nil {
		return outcome
	}
	doc := newLogDocument(a.invocation, o, rows)
	doc.Hosts = hosts
	return cmp.Or(renderLog(a, doc), outcome)
}

// logRows are all receipts, all lines of the audit log, and the archives that no
// receipt tells of.
func (a *invocation) logRows(ctx context.Context) ([]logRow, error) {
	receipts, unreadable, err := a.receipts().Examine()
	if err != nil {
		return nil, err
	}
	for _, u := range unreadable {
		a.notice(note{Path: u.Path, Message: u.Err.Error(), Hint: "sessctl doctor says more"})
	}
	lines, err := a.audit().Lines()
	if err != nil {
		return nil, err
	}
	undone := compact.UndoneBy(receipts)
	rows := make([]logRow, 0, len(receipts)+len(lines))
	for _, r := range receipts {
		rows = append(rows, receiptRow(r, undone[r.ID].ID))
	}
	known, err := a.archivedByID(ctx)
	rows = append(rows, unreceipted(known, rows)...)
	for _, row := range rows { // archives that are gone by now
		if _, there := known[row.Archive]; !there && row.Archive != "" && known != nil {
			known[row.Archive] = row
		}
	}
	for _, l := range lines {
		rows = append(rows, auditRow(l, known[l.Archive]))
	}
	return rows, err
}

func receiptRow(r compact.Receipt, undoneBy string) logRow {
	row := logRow{
		At: r.At.UTC().Format(time.RFC3339), Receipt: r.ID, Action: string(r.Outcome), Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Path: r.Path,
		Strategy: string(r.Strategy), TokensBefore: r.TokensBefore, TokensAfter: r.TokensAfter, UndoneBy: undoneBy, time: r.At,
	}
	if r.Archive != nil {
		row.Archive = r.Archive.ID
	}
	if r.Outcome != compact.Compacted {
		return row
	}
	switch {
	case r.After != nil:
		row.Freed = max(r.Source.Bytes-r.After.Size, 0)
	case r.Strategy == session.StrategyRotate:
		row.Freed = r.Source.Bytes
	}
	if undoneBy == "" && r.Rotation != nil {
		row.Undo = undoCommand(r.ID)
	}
	return row
}

func auditRow(l retention.Line, of logRow) logRow {
	row := logRow{
		At: l.Time.UTC().Format(time.RFC3339), Action: l.Action, Runtime: of.Runtime, Agent: of.Agent, Session: of.Session,
		Path: l.Path, Archive: l.Archive, time: l.Time,
	}
	if l.Action == retention.ActionPurge {
		row.Freed = l.Bytes
	}
	if l.Action == retention.ActionRequest {
		row.Agent, row.Caller = l.Agent, l.Caller
	}
	return row
}

// archivedByID are the sessions of the archives that there are.
func (a *invocation) archivedByID(ctx context.Context) (map[string]logRow, error) {
	entries, err := a.archived(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	known := map[string]logRow{}
	for _, e := range entries {
		known[e.ID] = logRow{
			At: e.CreatedAt.UTC().Format(time.RFC3339), Action: e.Reason, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session,
			Path: e.Source, Archive: e.ID, time: e.CreatedAt,
		}
	}
	return known, nil
}

// unreceipted are the archives that were made for their own sake: of those of a
// compaction and of its undo a receipt tells, and of those of clean the audit log.
func unreceipted(archives map[string]logRow, receipts []logRow) (rows []logRow) {
	told := map[string]bool{}
	for _, r := range receipts {
		told[r.Archive] = true
	}
	elsewhere := []string{"compact", "undo", "clean"}
	for id, row := range archives {
		if told[id] || slices.Contains(elsewhere, row.Action) {
			continue
		}
		row.Action = "archived"
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b logRow) int { return strings.Compare(a.Archive, b.Archive) })
	return rows
}

func renderLog(a *app, doc logDocument) error {
	if a.JSON {
		return a.printJSON(doc)
	}
	t := table{empty: "nothing was done yet", columns: []column{
		{name: "WHEN"}, {name: "ID"}, {name: "WHAT", least: 9}, {name: "RUNTIME", drop: 3}, {name: "AGENT", least: 8}, {name: "SESSION", least: 8},
		{name: "TOKENS", right: true, drop: 2}, {name: "FREED", right: true, drop: 1}, {name: "UNDO", drop: 4},
	}}
	var rows [][]string
	var hosts []string
	for _, r := range doc.Entries {
		what := r.what()
		if r.UndoneBy != "" {
			what += ", undone"
		}
		id := ""
		if r.Receipt != "" {
			id = shortReceipt(r.Receipt)
		}
		undo := onHost(r.Host, r.Undo)
		hosts = append(hosts, r.Host)
		rows = append(rows, []string{visible(r.At), visible(id), visible(what), visible(r.Runtime), visible(r.Agent), visible(cmp.Or(r.Session, r.Path)), strconv.FormatInt(r.TokensBefore, 10), strconv.FormatInt(r.Freed, 10), visible(undo)})
		t.rows = append(t.rows, []string{shownTime(r.At), id, what, r.Runtime, r.Agent, cmp.Or(r.Session, a.tilde(r.Path)), figure(r.TokensBefore, formatCount), figure(r.Freed, formatBytes), undo})
	}
	t.footer = fmt.Sprintf("%s freed; sessctl compact --undo ID reverses a compaction", formatBytes(doc.Freed))
	return a.printListOf(doc.Hosts != nil, hosts, t, rows)
}

// what is the action for people: a session that its runtime alone can make
// smaller, or that archive --remember looked at, is not half done.
func (r logRow) what() string {
	if r.Action == string(compact.Partial) {
		return "remembered"
	}
	return r.Action
}

func (r logRow) when() time.Time { return r.time }

// figure leaves out what is not there.
func figure(n int64, format func(int64) string) string {
	if n == 0 {
		return unknownFigure
	}
	return format(n)
}
