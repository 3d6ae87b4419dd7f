package cmd

import (
	"context"
	"slices"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// family is what belongs to a session: the logs of its sub-agents and its long
// outputs.
func (v inventory) family(s found) (members []found) {
	for _, x := range v.sessions {
		if x.Parent != "" && x.Parent == s.ID && x.owner() == s.owner() {
			members = append(members, x)
		}
	}
	return members
}

// withFamilies adds to each session what belongs to it.
func (v inventory) withFamilies(sessions []found) (whole []found) {
	for _, s := range sessions {
		for _, x := range append([]found{s}, v.family(s)...) {
			if !slices.ContainsFunc(whole, func(y found) bool { return x.Path == y.Path }) {
				whole = append(whole, x)
			}
		}
	}
	return whole
}

// compactFamily archives what belongs to a session that was archived and
// remembered, and remembers what its sub-agents said.
func compactFamily(ctx context.Context, a *app, h *house, s found, policy compact.Policy) (results []compact.Result) {
	policy.Force = true
	for _, member := range s.family {
		result, err := compactMember(ctx, a, h, member, policy)
		if ctx.Err() != nil {
			return results
		}
		if err != nil {
			h.progress.clear()
			reportFailure(a, member, err)
		}
		if err != nil || member.Kind != session.KindOutput {
			results = append(results, result)
		}
	}
	return results
}

// compactMember only archives an output: nobody reads it.
func compactMember(ctx context.Context, a *app, h *house, member found, policy compact.Policy) (compact.Result, error) {
	if member.Kind != session.KindOutput {
		return compactOne(ctx, a, h, member, policy)
	}
	if policy.SkipArchive || member.Bytes == 0 {
		return compact.Result{}, nil
	}
	if _, err := putArchive(ctx, a, h.archives, member); err != nil {
		return failedResult(member, err), err
	}
	return compact.Result{}, nil
}
