package memory_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// served hides that the built-in embedder can tell meaning from words, as those
// of servers cannot.
type served struct{ e *embed.Builtin }

func (s served) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	return s.e.EmbedQuery(ctx, text)
}

// boatyard is a memory of a few things.
func boatyard(t *testing.T) *memory.Store {
	t.Helper()
	s, _ := newStore(t)
	put(t, s,
		record(0, "The boat needs a new coat of green paint before summer."),
		record(1, "The permit of the harbour is 01J9ZK3V5Q8R7T6Y4W2X1N0M."),
		record(2, "We moved the importer to port 8090 because 7001 was taken."),
		record(3, "Das Boot liegt im Hafen, die Farbe steht im Keller."),
		record(4, "東京の天気は晴れです"),
	)
	embedAll(t, s, "a")
	return s
}

// What fits is found and what does not is not, whatever ranks: by words alone,
// by the built-in embedder, or by one of a server.
func TestNothingFits(t *testing.T) {
	s := boatyard(t)
	b, m := builtin(t)
	for _, c := range []struct {
		name, rank string
		embedder   embed.QueryEmbedder
	}{
		{"built-in", memory.RankHybrid, b}, {"text", memory.RankText, b}, {"no embedder", memory.RankHybrid, nil},
		{"vector", memory.RankVector, b}, {"seed", memory.RankSeed, b}, {"served", memory.RankHybrid, served{b}},
	} {
		for question, fits := range map[string]bool{
			"which colour does the boat get": true, "paint": true, "why did we move the importer": true,
			"01J9ZK3V5Q8R7T6Y4W2X1N0M": true, "wo liegt das Boot": true, "東京の天気": true, "the port 8090": true,
			"zebra quantum unicorn": false, "kumquat": false, "qelava nobuti": false, "how many walrus does the narwhal have": false,
			"wo wohnt ein Nashorn": false,
		} {
			q := memory.Query{Text: question, Rank: c.rank, LeastFit: memory.LeastFit}
			result, err := s.Recall(context.Background(), q, c.embedder, m)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(result.Hits) > 0; got != fits {
				t.Errorf("%s: %q: found %v, want %v (fit %.2f)", c.name, question, got, fits, result.Fit)
			}
			for _, h := range result.Hits {
				if h.Fit < 0 || h.Fit > 1 || h.Fit > result.Fit {
					t.Errorf("%s: %q: fit %v of at most %v", c.name, question, h.Fit, result.Fit)
				}
			}
		}
	}
}

// Without a bound everything is found as before; with one, each hit has to
// reach it.
func TestMinScoreIsOfFit(t *testing.T) {
	s := boatyard(t)
	all := recall(t, s, memory.Query{Text: "green paint of the boat"})
	if len(all.Hits) < 2 || all.Fit < 0.5 {
		t.Fatalf("%d hits, best %.2f", len(all.Hits), all.Fit)
	}
	some := recall(t, s, memory.Query{Text: "green paint of the boat", MinScore: all.Fit})
	if len(some.Hits) != 1 || !strings.Contains(some.Hits[0].Text, "green paint") {
		t.Errorf("%+v", some.Hits)
	}
	if any := recall(t, s, memory.Query{Text: "zebra quantum unicorn"}); len(any.Hits) == 0 || any.Fit > 0.2 {
		t.Errorf("%d hits, best %.2f", len(any.Hits), any.Fit)
	}
}
