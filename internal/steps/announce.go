package steps

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// reorientation is what an agent is told after its session started fresh
// (docs/dev/decisions.md D21).
const reorientation = `Your main session was put away because it had become long: its log is archived and all of it can be searched. Before you go on: recall your memories of the category session_summary, then what you talked about last, then look at your list of tasks. Go on with what is open. Do not announce this to anybody; say in one sentence what you are working on.`

// Announce tells of sessions that were compacted: the receivers of events, and
// agents whose session started fresh. By then everything is done: what cannot be
// told is a note and changes nothing.
func Announce(ctx context.Context, run *workspace.Run, o selection.CompactOptions, results []compact.Result) {
	tellCompacted(ctx, run)
	for _, r := range results {
		if r.Outcome != compact.Compacted || ctx.Err() != nil {
			continue
		}
		if o.SkipSummary || r.Strategy != session.StrategyRotate {
			continue
		}
		if err := reorient(ctx, run, r.Agent); err != nil {
			run.Notice(workspace.Note{Message: fmt.Sprintf("could not tell %s that its session started fresh: %v", r.Agent, err)})
		}
	}
}

// tellCompacted tells the receivers of events. A compaction that is a part of
// another command only keeps the events: nothing in a run waits for a receiver.
func tellCompacted(ctx context.Context, run *workspace.Run) {
	if run.Outer == nil {
		workspace.TellEvents(ctx, run)
		return
	}
	if err := workspace.EmitCompacted(ctx, run); err != nil && ctx.Err() == nil {
		workspace.Untold(run, err)
	}
}

// reorient tells an agent behind Hermes that its session is a fresh one.
func reorient(ctx context.Context, run *workspace.Run, agent string) error {
	if run.Config.Summarize.Provider != summarize.ProviderHermes {
		return nil
	}
	endpoint, err := workspace.Endpoint(run, "summarize", run.Config.Summarize)
	if err != nil {
		return err
	}
	endpoint.Agent = agent
	client, err := summarize.NewClient(endpoint)
	if err != nil {
		return err
	}
	_, err = client.Complete(ctx, summarize.Request{User: reorientation, Purpose: summarize.PurposeReacquaint})
	return err
}
