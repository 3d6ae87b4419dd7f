package weaviate

import (
	"context"

	"github.com/sessctl/sessctl/pkg/memory"
)

// EstimateFrom has the number of records that have a word estimated from n on.
func (m *Memory) EstimateFrom(n float64) { m.estimated = n }

// HowCommon says how many records have each of some terms.
func (m *Memory) HowCommon(ctx context.Context, terms []string) (memory.Counts, error) {
	tenants, err := m.tenants(ctx)
	if err != nil {
		return memory.Counts{}, err
	}
	x := &index{memory: m, nodes: m.majority(ctx), tenants: tenants}
	return x.Count(ctx, terms)
}
