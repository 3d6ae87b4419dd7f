package steps

import (
	"context"
	"errors"

	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// CompactFamily archives what belongs to a session that was archived and
// remembered, and remembers what its sub-agents said.
func CompactFamily(ctx context.Context, run *workspace.Run, w *workspace.Workspace, s workspace.Found, policy compact.Policy) (results []compact.Result) {
	policy.Force = true
	for _, member := range s.Family {
		result, err := compactMember(ctx, run, w, member, policy)
		if ctx.Err() != nil {
			return results
		}
		if err != nil {
			w.Progress.Clear()
			run.Failed(member.Path, err)
		}
		if err != nil || member.Kind != session.KindOutput {
			results = append(results, result)
		}
	}
	return results
}

// compactMember archives and remembers what belongs to a session. An output that
// is no text is only archived, and none has a summary.
func compactMember(ctx context.Context, run *workspace.Run, w *workspace.Workspace, member workspace.Found, policy compact.Policy) (compact.Result, error) {
	if member.Kind != session.KindOutput {
		return CompactOne(ctx, run, w, member, policy)
	}
	if policy.SkipArchive || member.Bytes == 0 {
		return compact.Result{}, nil
	}
	if output, ok := selection.Output(member); ok {
		policy.SkipSummary = true
		result, err := CompactOne(ctx, run, w, output, policy)
		if result.Archive != nil || ctx.Err() != nil || err != nil && !errors.Is(err, session.ErrUnknownFormat) {
			return result, err
		}
	}
	if _, same, err := selection.FileKnown(ctx, w, member); err == nil && same {
		return compact.Result{}, nil
	}
	if _, err := removal.PutArchive(ctx, run, w.Archives, member); err != nil {
		return failedResult(member, err), err
	}
	return compact.Result{}, nil
}
