package mcptool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

// FactAnswer is one fact as an agent is told of it.
type FactAnswer struct{ ID, Text string }

// FactAnswers are the facts in a scope: those that answer the question of in, the best
// first, or without one all, those that an agent stored itself first, then the newest.
func FactAnswers(ctx context.Context, run *workspace.Run, store *memory.Store, of selection.Scope, in FactsInput) ([]FactAnswer, error) {
	all, err := factAnswers(ctx, store, of, in.Kind)
	if err != nil || in.Query == "" || len(all) == 0 {
		return all, err
	}
	return answering(ctx, run, all, recall.Options{Query: in.Query, Agent: of.Agent, Runtime: of.Runtime, Category: memory.CategoryFact, Kind: in.Kind, Rank: memory.RankHybrid, Limit: recall.MostHits})
}

// factAnswers are all facts in a scope.
func factAnswers(ctx context.Context, store *memory.Store, of selection.Scope, kind string) (all []FactAnswer, err error) {
	if kind == "" {
		own, _, err := store.ListOwnWords(ctx, memory.OwnWordsFilter{Runtime: of.Runtime, Agent: of.Agent, Category: memory.CategoryFact})
		if err != nil {
			return nil, err
		}
		for _, r := range own {
			all = append(all, FactAnswer{r.ID, fmt.Sprintf("   %s\n%s\n", recall.Line(audit.NewStoredBy(r)), recall.Indent(CutMessage(steps.PlainText(r.Text))))})
		}
	}
	known, err := store.Facts(ctx, memory.FactFilter{Runtime: of.Runtime, Agent: of.Agent, Kind: kind})
	if err != nil {
		return nil, err
	}
	replaced, err := steps.ReplacedFacts(ctx, store, memory.FactFilter{Runtime: of.Runtime, Agent: of.Agent})
	if err != nil {
		return nil, err
	}
	for _, f := range slices.Backward(known) {
		if !f.Damaged {
			text := steps.PlainText(f.Text)
			for _, before := range replaced[f.ID] {
				text += "\nbefore that, and not so any more: " + steps.PlainText(before.Text)
			}
			all = append(all, FactAnswer{f.ID, fmt.Sprintf("   %s  %s  confidence %.2f  agent %s\n%s\n", time.UnixMilli(f.CreatedAt).UTC().Format(time.DateOnly), wording.Visible(f.Kind), f.Confidence, wording.Visible(f.Agent), recall.Indent(CutMessage(text)))})
		}
	}
	return all, nil
}

// answering are the facts that a question finds, the best first.
func answering(ctx context.Context, run *workspace.Run, all []FactAnswer, o recall.Options) (found []FactAnswer, err error) {
	doc, err := recall.Recall(ctx, run, o)
	if err != nil {
		return nil, err
	}
	for _, hit := range doc.Hits {
		if i := slices.IndexFunc(all, func(f FactAnswer) bool { return f.ID == hit.ID }); i >= 0 {
			found = append(found, all[i])
		}
	}
	return found, nil
}
