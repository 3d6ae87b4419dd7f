package audit

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
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

// RunRow is one run.
type RunRow struct {
	Host string `json:"host,omitempty"` // with --host
	operate.RunRecord
}

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
	rows := make([]RunRow, len(runs))
	for i := range runs {
		rows[i].RunRecord = runs[i]
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

// WhyOf says why a run did not end well: of its steps the first that did not.
func WhyOf(r operate.RunRecord) string {
	if r.Reason != "" || r.Outcome == operate.OK {
		return r.Reason
	}
	for _, s := range r.Steps {
		if s.Outcome == r.Outcome || s.Outcome != operate.OK && r.Outcome == operate.Partial {
			return StepTitle(s) + ": " + cmp.Or(s.Reason, s.Summary, string(s.Outcome))
		}
	}
	return ""
}
