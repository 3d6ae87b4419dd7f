package cmd

import (
	"context"

	"github.com/sessctl/sessctl/pkg/memory"
)

// addFacts says of those hits that are facts what is known of them.
func addFacts(ctx context.Context, store *memory.Store, hits []recallHit) error {
	var ids []string
	for _, h := range hits {
		if h.Category == memory.CategoryFact {
			ids = append(ids, h.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	known, err := store.Facts(ctx, memory.FactFilter{IDs: ids, Superseded: true})
	if err != nil {
		return err
	}
	for _, f := range known {
		for i := range hits {
			if hits[i].ID == f.ID {
				row := newFactRow(f)
				hits[i].Fact = &recallFact{Kind: row.Kind, Confidence: row.Confidence, Quote: row.Quote, SupersededBy: row.SupersededBy}
			}
		}
	}
	return nil
}
