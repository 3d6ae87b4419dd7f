package recall

import (
	"context"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/operate"
)

// listener is a shared memory that keeps how its hosts are.
type listener interface {
	Tell(ctx context.Context, host string, h remote.Health, pushed bool) error
}

// tellHealth tells how this host is, as its records say.
func tellHealth(ctx context.Context, run *workspace.Run, shared workspace.SharedMemory, host string, pushed bool) error {
	to, ok := shared.(listener)
	if !ok {
		return nil
	}
	h := remote.Health{Archives: run.Config.Archive.Remote, Verified: lastVerified(run)}
	runs, err := audit.ListedRuns(ctx, run)
	if err != nil {
		runs = nil // doctor says so; a push is not for that
	}
	if at := operate.LastDone(runs, operate.StepArchiveUpload); !at.IsZero() && h.Archives != "" {
		h.Uploaded = at.UnixMilli()
	}
	return to.Tell(ctx, host, h, pushed)
}

// lastVerified is [remote.Health.Verified] of this host.
func lastVerified(run *workspace.Run) (at int64) {
	checks, err := audit.RecordedChecks(run)
	if err != nil {
		return 0 // doctor says so
	}
	if _, damaged := audit.Unsettled(checks); damaged {
		return remote.Damaged
	}
	for _, c := range checks {
		if t, err := time.Parse(time.RFC3339, c.At); err == nil && c.All && c.ReadData && c.Problems == 0 {
			at = t.UnixMilli()
		}
	}
	return at
}

// TellRun tells the shared memory how this host is after a run that may have changed that.
// A run that could not push has said so, and does not wait once more.
func TellRun(ctx context.Context, run *workspace.Run, record operate.RunRecord) {
	tells := func(s operate.StepRecord) bool {
		return slices.Contains([]string{operate.StepArchiveUpload, operate.StepArchiveVerify, operate.StepPush}, s.Step)
	}
	unpushed := func(s operate.StepRecord) bool { return s.Step == operate.StepPush && s.Outcome != operate.OK }
	if !workspace.Shares(&run.Settings) || !slices.ContainsFunc(record.Steps, tells) || slices.ContainsFunc(record.Steps, unpushed) {
		return
	}
	if err := tryTelling(ctx, run); err != nil {
		run.Notice(workspace.Note{Message: "the shared memory was not told how this host is: " + err.Error(), Hint: "the next sessctl push tells it"})
	}
}

func tryTelling(ctx context.Context, run *workspace.Run) error {
	ctx, cancel := context.WithTimeout(ctx, run.Config.Memory.Remote.Timeout)
	defer cancel()
	host, err := OwnHost(&run.Settings)
	if err != nil {
		return err
	}
	shared, err := workspace.OpenShared(ctx, &run.Settings, false)
	if err != nil {
		return err
	}
	defer shared.Close()
	return workspace.ExplainShared(tellHealth(ctx, run, shared, host, false))
}
