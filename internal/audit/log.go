package audit

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
)

// LogOptions are the options of log.
type LogOptions struct {
	Agent agentset.Set
	Limit int
	Since string
	Runs  bool
	// Actions are the only ones that are listed, as WHAT shows them; none for all.
	Actions []string
	selection.HostsOption
}

// LogDocument is `log --json` (docs/json.md).
type LogDocument struct {
	Schema  int      `json:"schema"`
	Entries []LogRow `json:"entries"` // the newest first
	Freed   int64    `json:"freed_bytes"`
	// TokensSaved are those by which the compactions made contexts smaller.
	TokensSaved int64            `json:"tokens_saved"`
	Notes       []workspace.Note `json:"notes"`

	Hosts []selection.HostAnswer `json:"hosts,omitempty"` // of --host
}

// LogRow is one thing that was done: a receipt, or a line of the audit log.
type LogRow struct {
	Host         string `json:"host,omitempty"` // with --host
	At           string `json:"at"`             // RFC 3339, UTC
	Receipt      string `json:"receipt"`        // its id, "" for a line of the audit log
	Action       string `json:"action"`         // the outcome of the receipt, archived, or trash, purge, undelete, restore
	Runtime      string `json:"runtime"`
	Agent        string `json:"agent"`
	Session      string `json:"session"`
	Title        string `json:"title"`        // of the archive's session, or ""
	Project      string `json:"project"`      // the same
	ProjectName  string `json:"project_name"` // what people call the agent, see selection.ProjectNames
	LastUsed     string `json:"last_used"`    // the same; RFC 3339, UTC
	Path         string `json:"path"`
	Strategy     string `json:"strategy"`
	TokensBefore int64  `json:"tokens_before"`
	TokensAfter  int64  `json:"tokens_after"`
	Freed        int64  `json:"freed_bytes"`
	Archive      string `json:"archive"`   // id, or ""
	UndoneBy     string `json:"undone_by"` // id of the receipt of the undo, or ""
	Undo         string `json:"undo"`      // the command that reverses it, "" if none does
	Caller       string `json:"caller_id"` // who asked a server for it, "" for everything else

	Time time.Time `json:"-"`
}

// NewLogDocument lists the newest of these rows.
func NewLogDocument(run *workspace.Run, o LogOptions, rows []LogRow) LogDocument {
	doc := LogDocument{Schema: 1, Entries: Newest(rows, o.Limit, LogRow.When), Notes: run.Notes}
	for _, r := range doc.Entries {
		doc.Freed += r.Freed
		doc.TokensSaved += r.saved()
	}
	return doc
}

// NameProjects says what people call the agents.
func (d *LogDocument) NameProjects(names selection.Projects) {
	for i := range d.Entries {
		d.Entries[i].ProjectName = names.Of(d.Entries[i].Runtime, d.Entries[i].Agent)
	}
}

// Newest are so many rows, 0 for all, the newest first.
func Newest[Row any](rows []Row, limit int, at func(Row) time.Time) []Row {
	slices.SortStableFunc(rows, func(x, y Row) int { return at(y).Compare(at(x)) })
	if limit > 0 {
		rows = rows[:min(limit, len(rows))]
	}
	return append([]Row{}, rows...)
}

// LogRows are all receipts, all lines of the audit log, and the archives that no
// receipt tells of.
func LogRows(ctx context.Context, run *workspace.Run) ([]LogRow, error) {
	receipts, unreadable, err := run.Receipts().Examine()
	if err != nil {
		return nil, err
	}
	for _, u := range unreadable {
		run.Notice(workspace.Note{Path: u.Path, Message: u.Err.Error(), Hint: "sessctl doctor says more"})
	}
	lines, err := run.Audit().Lines()
	if err != nil {
		return nil, err
	}
	undone := compact.UndoneBy(receipts)
	rows := make([]LogRow, 0, len(receipts)+len(lines))
	for _, r := range receipts {
		rows = append(rows, ReceiptRow(r, undone[r.ID].ID))
	}
	known, err := archivedByID(ctx, run)
	for i := range rows {
		of := known[rows[i].Archive]
		rows[i].Title, rows[i].Project, rows[i].LastUsed = of.Title, of.Project, of.LastUsed
	}
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

// ReceiptRow is a receipt as a row of the log.
func ReceiptRow(r compact.Receipt, undoneBy string) LogRow {
	row := LogRow{
		At: r.At.UTC().Format(time.RFC3339), Receipt: r.ID, Action: string(r.Outcome), Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Path: r.Path,
		Strategy: string(r.Strategy), TokensBefore: r.TokensBefore, TokensAfter: r.TokensAfter, UndoneBy: undoneBy, Time: r.At,
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
	if undoneBy == "" && r.Rotation != nil && !workspace.TraitsOf(r.Runtime).Irreversible {
		row.Undo = selection.UndoCommand(r.ID)
	}
	return row
}

func auditRow(l retention.Line, of LogRow) LogRow {
	row := LogRow{
		At: l.Time.UTC().Format(time.RFC3339), Action: l.Action, Runtime: of.Runtime, Agent: of.Agent, Session: of.Session,
		Title: of.Title, Project: of.Project, LastUsed: of.LastUsed, Path: l.Path, Archive: l.Archive, Time: l.Time,
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
func archivedByID(ctx context.Context, run *workspace.Run) (map[string]LogRow, error) {
	entries, err := selection.Archived(ctx, run, archive.Filter{})
	if err != nil {
		return nil, err
	}
	known := map[string]LogRow{}
	for _, e := range entries {
		known[e.ID] = LogRow{
			At: e.CreatedAt.UTC().Format(time.RFC3339), Action: e.Reason, Runtime: e.Runtime, Agent: e.Agent, Session: e.Session,
			Path: e.Source, Archive: e.ID, Time: e.CreatedAt, Title: workspace.ArchivedTitle(e), Project: e.Project, LastUsed: wording.StampText(e.SourceModTime),
		}
	}
	return known, nil
}

// unreceipted are the archives that were made for their own sake: of those of a
// compaction and of its undo a receipt tells, and of those of clean the audit log.
func unreceipted(archives map[string]LogRow, receipts []LogRow) (rows []LogRow) {
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
	slices.SortFunc(rows, func(a, b LogRow) int { return strings.Compare(a.Archive, b.Archive) })
	return rows
}

// What is the action for people: a session that its runtime alone can make
// smaller, or that archive --remember looked at, is not half done.
func (r LogRow) What() string {
	if r.Action == string(compact.Partial) {
		return "remembered"
	}
	return r.Action
}

// Wants says whether the options mean a row.
func (o *LogOptions) Wants(r LogRow) bool {
	undone := r.UndoneBy != "" && slices.Contains(o.Actions, "undone")
	return len(o.Actions) == 0 || undone || slices.Contains(o.Actions, r.What()) || slices.Contains(o.Actions, r.Action)
}

// Tokens is the context before, and after where that became smaller.
func (r LogRow) Tokens() string {
	if r.Action == string(compact.Compacted) && r.TokensAfter < r.TokensBefore {
		return wording.Count(r.TokensBefore) + " -> " + wording.Count(r.TokensAfter)
	}
	return Figure(r.TokensBefore, wording.Count)
}

// saved are the tokens by which a compaction that stands made the context smaller.
func (r LogRow) saved() int64 {
	if r.Action != string(compact.Compacted) || r.UndoneBy != "" {
		return 0
	}
	return max(r.TokensBefore-r.TokensAfter, 0)
}

// When is when it happened.
func (r LogRow) When() time.Time { return r.Time }

// Figure leaves out what is not there.
func Figure(n int64, format func(int64) string) string {
	if n == 0 {
		return selection.UnknownFigure
	}
	return format(n)
}
