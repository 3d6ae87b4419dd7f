package audit

import (
	"context"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
)

// OpenRuns opens the records of runs.
func OpenRuns(run *workspace.Run) operate.Runs { return recordsOf(run, run.DataDir()) }

// recordsOf are the records of runs of a data directory.
func recordsOf(run *workspace.Run, data string) operate.Runs {
	r := operate.OpenRuns(workspace.RunsIn(data))
	r.Pins = run.Pins
	return r
}

// EarlierRunsIn is EarlierRuns of a data directory.
func EarlierRunsIn(ctx context.Context, run *workspace.Run, data string) ([]operate.RunRecord, error) {
	records, bad, err := recordsOf(run, data).Examine(ctx)
	for _, u := range bad {
		run.Notice(workspace.Note{Path: u.Path, Message: u.Err.Error(), Hint: "it is not needed for anything else: remove it"})
	}
	return records, err
}
