package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// OpenLater connects as a later sessctl that has these migrations too.
func OpenLater(ctx context.Context, o Options, later ...string) (*Memory, error) {
	return open(ctx, o, append(migrations(), later...))
}

// Together is the tsquery for at most so many of all records, of words that stand in
// some of them.
func Together(records, most float64, with map[string]float64) string {
	x := &index{statistics: &remote.Statistics{Records: records, With: with}}
	words := x.rarest(slices.Sorted(maps.Keys(with)))
	return x.together(words, x.least(words, most))
}
