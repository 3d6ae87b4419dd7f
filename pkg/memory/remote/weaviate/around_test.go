package weaviate_test

import (
	"slices"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// TestSessions: sessions are found by how their ids begin, of whatever agent, each
// once and in order; what stands for other letters in a search of Weaviate stands
// for itself.
func TestSessions(t *testing.T) {
	m := open(t, weaviate.Options{URL: address(node(t)), SetUp: true})
	batch := remote.Batch{Host: "laptop", Memory: "one"}
	for i, id := range []string{"abc", "abc-1", "abd", "ab*d", "abc", "zz"} {
		r := memory.Record{Text: "hello", Agent: []string{"scout", "an agent / of two"}[i%2], Session: id, Position: i}
		r.ID = memory.RecordID(r.Agent, id, i, "test", r.Text)
		fact := &memory.Fact{Record: r, Kind: "preference", Confidence: 0.5, Quote: "hello", Topic: "greetings"}
		batch.Records = append(batch.Records, memory.Shared{Exported: memory.Exported{Record: r, Fact: fact}, Digest: int64(i) + 1})
	}
	if r, err := m.Push(t.Context(), batch); err != nil || len(r.Present) != len(batch.Records) {
		t.Fatalf("%+v: %v", r, err)
	}
	for begin, want := range map[string][]string{"abc": {"abc", "abc-1"}, "ab": {"ab*d", "abc", "abc-1"}, "ab*": {"ab*d"}, "": {"ab*d", "abc", "abc-1"}, "q": {}} {
		if got, err := m.Sessions(t.Context(), begin, 3); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q: %v", begin, got, want, err)
		}
	}
	for _, x := range batch.Records {
		if f, err := m.Fact(t.Context(), memory.Hit{Host: "laptop", Record: x.Record}); err != nil || f != *x.Fact {
			t.Errorf("%+v, not %+v: %v", f, x.Fact, err)
		}
	}
	if f, err := m.Fact(t.Context(), memory.Hit{Host: "desktop", Record: batch.Records[0].Record}); err != nil || f.Kind != "" {
		t.Errorf("a host that has no such record says %+v: %v", f, err)
	}
}
