package cmd

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// reorientation is what an agent is told after its session started fresh
// (docs/dev/decisions.md D21).
const reorientation = `Your main session was put away because it had become long: its log is archived and all of it can be searched. Before you go on: recall your memories of the category session_summary, then what you talked about last, then look at your list of tasks. Go on with what is open. Do not announce this to anybody; say in one sentence what you are working on.`

// announce tells of sessions that were compacted: the receivers of events, and
// agents whose session started fresh. By then everything is done: what cannot be
// told is a note and changes nothing.
func (a *invocation) announce(ctx context.Context, o compactOptions, results []compact.Result) {
	a.tellCompacted(ctx)
	for _, r := range results {
		if r.Outcome != compact.Compacted || ctx.Err() != nil {
			continue
		}
		if o.SkipSummary || r.Strategy != session.StrategyRotate {
			continue
		}
		if err := a.reorient(ctx, r.Agent); err != nil {
			a.notice(note{Message: fmt.Sprintf("could not tell %s that its session started fresh: %v", r.Agent, err)})
		}
	}
}

// tellCompacted tells the receivers of events. A compaction that is a part of
// another command only keeps the events: nothing in a run waits for a receiver.
func (a *invocation) tellCompacted(ctx context.Context) {
	if a.outer == nil {
		a.tellEvents(ctx)
		return
	}
	if err := a.emitCompacted(ctx); err != nil && ctx.Err() == nil {
		a.untold(err)
	}
}

// reorient tells an agent behind Hermes that its session is a fresh one.
func (a *invocation) reorient(ctx context.Context, agent string) error {
	if a.config.Summarize.Provider != summarize.ProviderHermes {
		return nil
	}
	endpoint, err := a.endpoint("summarize", a.config.Summarize)
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

// checkEvents refuses an events.url that cannot be one.
func (a *invocation) checkEvents() error {
	raw := a.config.Events.URL
	if _, err := outbox.ParseURL(raw); raw != "" && err != nil {
		return usageError("http://host/path, or https", "events.url is no URL that events can be sent to")
	}
	return nil
}
