package weaviate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// TestFreshWords: what was pushed a moment ago is found by its rare words, in
// whatever order it was stored.
func TestFreshWords(t *testing.T) {
	const records, questions = 2000, 40
	m := open(t, weaviate.Options{URL: address(node(t)), SetUp: true})
	s := store(t)
	_, err := s.Put(t.Context(), memory.Source{Agent: conformance.Agent, Session: "fresh"}, func(yield func(memory.Record, error) bool) {
		for at, i := range rand.New(rand.NewPCG(5, 6)).Perm(records) { //nolint:gosec // a test
			text := conformance.NoteText("fresh", i, records)
			r := memory.Record{ID: memory.RecordID(conformance.Agent, "fresh", i, "test", text), Text: text, Category: "session_history", CreatedAt: time.Now().UnixMilli(), Branch: "active", Position: at}
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &remote.Pusher{Local: s, Shared: m, Host: "laptop", Server: m.Server()}
	if r, err := p.Push(t.Context()); err != nil || r.ThereNow != records {
		t.Fatalf("%+v: %v", r, err)
	}
	missed := 0
	for i := range questions {
		want := conformance.NoteText("fresh", i*records/questions+3, records)
		result, err := m.Recall(t.Context(), memory.Query{Text: want, Rank: memory.RankText, Now: time.Now()}, nil, embed.Model{})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Hits) == 0 || result.Hits[0].Text != want {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d of %d records are not found first by their words", missed, questions)
	}
}
