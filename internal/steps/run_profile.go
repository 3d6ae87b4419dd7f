package steps

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
)

// EarlierRuns are the records of all runs, the newest first.
func EarlierRuns(ctx context.Context, run *workspace.Run) ([]operate.RunRecord, error) {
	return audit.EarlierRunsIn(ctx, run, run.DataDir())
}

// StartedRun is the data of run.started, which only checks of healthchecks.io are
// told of.
type StartedRun struct {
	ID      string    `json:"id"`
	Profile string    `json:"profile"`
	Started time.Time `json:"started_at"`
}

// ExitUnknown is the exit code of a run or step that was killed.
const ExitUnknown = -1

// NotBegun is the reason of a step that the run did not come to.
const NotBegun = "the run ended before it"

// Rendered reports whether all that there is to say of an error was said.
func Rendered(err error) bool {
	var outcome *failure.Outcome
	return err == nil || errors.As(err, &outcome)
}

// Encoded is a document as JSON, nil without one.
func Encoded(document any) json.RawMessage {
	if document == nil {
		return nil
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil // all documents are printed by their own commands
	}
	return text
}

// CodeOf is the exit code of a command that ended with this error.
func CodeOf(run *workspace.Run, err error) int {
	if code := failure.ExitCode(err); code != failure.ExitOK || run.Incomplete == 0 {
		return code
	}
	return failure.ExitPartly
}

// OutcomeOfCode is what an exit code says of a step. A step that was told
// something wrong, an agent that is no more say, has failed.
func OutcomeOfCode(code int) operate.Outcome {
	switch code {
	case failure.ExitOK:
		return operate.OK
	case failure.ExitPartly:
		return operate.Partial
	case failure.ExitIntegrity:
		return operate.Damaged
	case failure.ExitBusy:
		return operate.Busy
	case failure.ExitInterrupt, failure.ExitTerminate:
		return operate.Interrupted
	}
	return operate.Failed
}

// CodeOfOutcome is the exit code of a run.
func CodeOfOutcome(outcome operate.Outcome) int {
	switch outcome {
	case operate.OK:
		return failure.ExitOK
	case operate.Partial:
		return failure.ExitPartly
	case operate.Damaged:
		return failure.ExitIntegrity
	case operate.Busy:
		return failure.ExitBusy
	}
	return failure.ExitFailed
}

// DamageEvent is the data of archive.damaged, as the monitor has it
// (docs/monitor.md), with the run that has read the archives.
type DamageEvent struct {
	Run     string          `json:"run"`
	Profile string          `json:"profile"`
	Message string          `json:"message"` // of the first
	Advice  string          `json:"advice"`
	Count   int             `json:"count"`
	Items   []audit.Problem `json:"items"` // the first operate.MaxProblems
}
