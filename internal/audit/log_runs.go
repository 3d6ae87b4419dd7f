package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate"
)

// RunsDocument is `log --runs --json` (docs/json.md).
type RunsDocument struct {
	Schema int                    `json:"schema"`
	Runs   []RunRow               `json:"runs"` // the newest first
	Notes  []workspace.Note       `json:"notes"`
	Hosts  []selection.HostAnswer `json:"hosts,omitempty"` // of --host
}

// RunRow is one run, as documents and events have it: what [operate.RunRecord] says.
// Fields are added, never renamed.
type RunRow struct {
	Host        string          `json:"host,omitempty"` // with --host
	Schema      int             `json:"schema"`
	ID          string          `json:"id"`
	Version     string          `json:"version"`
	Profile     string          `json:"profile"`
	Process     int             `json:"process"`
	Invocation  string          `json:"invocation,omitempty"`
	Started     time.Time       `json:"started_at"`
	Finished    time.Time       `json:"finished_at,omitzero"`
	Seconds     float64         `json:"seconds"`
	Outcome     operate.Outcome `json:"outcome"`
	ExitCode    int             `json:"exit_code"`
	Reason      string          `json:"reason"`
	BytesBefore RunSizes        `json:"bytes_before"`
	BytesAfter  RunSizes        `json:"bytes_after"`
	Steps       []StepRow       `json:"steps"`
	Told        bool            `json:"told,omitempty"`
}

// RunSizes are the bytes on the disk.
type RunSizes struct {
	Logs     int64 `json:"logs"`
	Archives int64 `json:"archives"`
	Memory   int64 `json:"memory"`
}

// StepRow is one step of a run.
type StepRow struct {
	Step     string          `json:"step"`
	Command  []string        `json:"command"`
	Started  time.Time       `json:"started_at,omitzero"`
	Seconds  float64         `json:"seconds"`
	Outcome  operate.Outcome `json:"outcome"`
	ExitCode int             `json:"exit_code"`
	Reason   string          `json:"reason"`
	Changed  int             `json:"changed"`
	Summary  string          `json:"summary"`
	Problems []string        `json:"problems,omitempty"`
	Document json.RawMessage `json:"document,omitempty"` // what its command prints with --json; only where the run was made
}

// NewRunRow is what is printed of a record.
func NewRunRow(r operate.RunRecord) RunRow {
	row := RunRow{
		Schema: r.Schema, ID: r.ID, Version: r.Version, Profile: r.Profile, Process: r.Process, Invocation: r.Invocation,
		Started: r.Started, Finished: r.Finished, Seconds: r.Seconds, Outcome: r.Outcome, ExitCode: r.ExitCode, Reason: r.Reason,
		BytesBefore: RunSizes(r.BytesBefore), BytesAfter: RunSizes(r.BytesAfter), Steps: make([]StepRow, 0, len(r.Steps)), Told: r.Told,
	}
	for _, s := range r.Steps {
		row.Steps = append(row.Steps, StepRow{
			Step: s.Step, Command: s.Command, Started: s.Started, Seconds: s.Seconds, Outcome: s.Outcome, ExitCode: s.ExitCode,
			Reason: s.Reason, Changed: s.Changed, Summary: s.Summary, Problems: s.Problems,
		})
	}
	return row
}

// Changed counts what the steps of the run have changed.
func (r RunRow) Changed() (n int) {
	for _, s := range r.Steps {
		n += s.Changed
	}
	return n
}

// Why says why a run did not end well: of its steps the first that did not.
func (r RunRow) Why() string {
	if r.Reason != "" || r.Outcome == operate.OK {
		return r.Reason
	}
	for _, s := range r.Steps {
		if s.Outcome == r.Outcome || s.Outcome != operate.OK && r.Outcome == operate.Partial {
			return s.Title() + ": " + cmp.Or(s.Reason, s.Summary, string(s.Outcome))
		}
	}
	return ""
}

// Title is the step, with the agent that it is about.
func (s StepRow) Title() string {
	if i := slices.Index(s.Command, "--agent"); i >= 0 && i+1 < len(s.Command) {
		return s.Step + " " + s.Command[i+1]
	}
	return s.Step
}

// Said is what the step did, and why it did not do all that it should.
func (s StepRow) Said() string { return strings.Trim(s.Summary+"; "+s.Reason, "; ") }

// RunsOf are the runs that the options mean.
func RunsOf(ctx context.Context, run *workspace.Run, o LogOptions) (RunsDocument, error) {
	if o.Agent != "" || run.Global.Runtime != "" {
		return RunsDocument{}, failure.Usage("a run covers all sessions; without --runs the log shows what became of each", "--runs goes with neither --agent nor --runtime")
	}
	since, err := ParseTime(o.Since, run.Now())
	if err != nil {
		return RunsDocument{}, failure.Usage("write 30d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z", "--since: %w", err)
	}
	runs, err := ListedRuns(ctx, run)
	if err != nil {
		return RunsDocument{}, err
	}
	runs = slices.DeleteFunc(runs, func(r operate.RunRecord) bool { return r.Started.UnixMilli() < since })
	rows := make([]RunRow, 0, len(runs))
	for _, r := range runs {
		rows = append(rows, NewRunRow(r))
	}
	return NewRunsDocument(run, o, rows), nil
}

// NewRunsDocument lists the newest of these runs.
func NewRunsDocument(run *workspace.Run, o LogOptions, rows []RunRow) RunsDocument {
	return RunsDocument{Schema: 1, Runs: Newest(rows, o.Limit, func(r RunRow) time.Time { return r.Started }), Notes: run.Notes}
}

// ListedRuns are the records of all runs, the newest first. The one that is at
// work says so.
func ListedRuns(ctx context.Context, run *workspace.Run) ([]operate.RunRecord, error) {
	return ListedRunsIn(ctx, run, run.DataDir())
}

// ListedRunsIn is ListedRuns of a data directory.
func ListedRunsIn(ctx context.Context, run *workspace.Run, data string) ([]operate.RunRecord, error) {
	runs, err := EarlierRunsIn(ctx, run, data)
	if err != nil {
		return nil, err
	}
	lock, err := durable.LookAtLock(filepath.Join(data, "lock"))
	if err != nil || !lock.Held {
		return runs, nil // then none is at work
	}
	holder := lock.Process
	if run.Held != nil {
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
