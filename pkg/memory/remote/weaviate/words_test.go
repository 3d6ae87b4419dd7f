package weaviate

import (
	"slices"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// TestRarestWords: what all records are asked for is the rarest words that are in
// few enough records together.
func TestRarestWords(t *testing.T) {
	x := &index{statistics: &remote.Statistics{With: map[string]float64{"the": 90_000, "crane": 600, "tons": 399, "heron": 2, "lake": 1, "both": 399, "nowhere": 0}}}
	for _, c := range []struct{ terms, want []string }{
		{[]string{"the", "crane", "heron", "lake"}, []string{"lake", "heron", "crane"}},
		{[]string{"tons", "crane", "heron", "both", "heron"}, []string{"heron", "both", "tons"}},
		{[]string{"crane", "tons"}, []string{"tons", "crane"}},
		{[]string{"crane", "tons", "heron"}, []string{"heron", "tons"}},
		{[]string{"the", "nowhere"}, nil},
	} {
		if got := x.rarest(c.terms); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, not %q", c.terms, got, c.want)
		}
	}
}
