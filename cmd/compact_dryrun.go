package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// plans is what a dry run plans.
type plans struct {
	targets []found
	policy  compact.Policy
}

// dryRun says what would be done, and where texts would be sent.
func dryRun(ctx context.Context, a *app, all inventory, doc compactDocument, p plans) error {
	planned, err := planAll(ctx, a, p.targets, p.policy)
	doc.Sessions = append(doc.Sessions, planned...)
	a.warnOfPurge(ctx, all.sessions)
	if !p.policy.SkipSummary {
		err = errors.Join(err, a.noteSummarizer())
	}
	return a.finish(doc, errors.Join(err, a.noteEmbedder()))
}

// noteSummarizer says where conversations would be sent to be summed up.
func (a *app) noteSummarizer() error {
	endpoint, err := a.endpoint("summarize", a.config.Summarize)
	if err != nil || endpoint.Provider == summarize.ProviderExtractive {
		return err
	}
	client, err := summarize.NewClient(endpoint)
	if err == nil {
		a.notice(note{Message: fmt.Sprintf("conversations, without what looks like a secret, would be sent to %s to be summed up by %s", client.Address(), client.Name())})
	}
	return err
}

// planAll is the dry run: it makes no mutating call. Sessions are read several
// at a time.
func planAll(ctx context.Context, a *app, targets []found, policy compact.Policy) ([]compact.Result, error) {
	results := make([]compact.Result, len(targets))
	err := session.Spread(ctx, a.workers(), len(targets), func(_, i int) {
		t := targets[i]
		plan, err := compact.NewPlan(ctx, t.store, t.Ref, policy, a.now())
		if err != nil {
			results[i] = failedResult(t, err)
			return
		}
		results[i] = plan.Result()
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}
