package remote

import (
	"cmp"
	"slices"

	"github.com/sessctl/sessctl/pkg/memory"
)

// Best are the n records with the highest scores, best first; of equal ones the
// lower key is the first.
func Best(list []memory.Scored, n int) []memory.Scored {
	slices.SortFunc(list, func(a, b memory.Scored) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(n, len(list))]
}

// Keys are those of records.
func Keys(list []memory.Scored) []int64 {
	keys := make([]int64, len(list))
	for i, s := range list {
		keys[i] = s.Key
	}
	return keys
}

// Around is what stands around a hit: the records that were found in its session,
// by position. Of several at one position the first is taken.
func Around(h memory.Hit, found []memory.Found) (near memory.Neighborhood) {
	last := -1
	for _, f := range found {
		switch {
		case f.Position == last:
		case f.Position < h.Position:
			near.Before = append(near.Before, f.Record)
		default:
			near.After = append(near.After, f.Record)
		}
		last = f.Position
	}
	return near
}
