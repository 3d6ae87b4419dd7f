package memory_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// axis is an embedder of another model: it points along the length of a text,
// and serves only so many texts.
type axis struct{ serves int }

func (a *axis) model() embed.Model { return embed.Model{Provider: "test", Name: "axis", Dim: 8} }

func (a *axis) EmbedDocuments(_ context.Context, texts []string) ([][]float32, error) {
	if a.serves -= len(texts); a.serves < 0 {
		return nil, embed.ErrUnavailable
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 8)
		vectors[i][len(text)%8] = 1
	}
	return vectors, nil
}

func (a *axis) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := a.EmbedDocuments(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// twoAgents is a memory with 700 records of agent a and 3 of agent b: more
// than one page to embed.
func twoAgents(t *testing.T) (*memory.Store, string) {
	t.Helper()
	s, dir := newStore(t)
	var records []memory.Record
	for i := range 703 {
		r := record(i, fmt.Sprintf("record %d about the importer", i))
		if i >= 700 {
			r.Agent, r.ID = "b", memory.RecordID("b", "s1", i, "v1", "")
		}
		records = append(records, r)
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	embedAll(t, s, "b")
	return s, dir
}

func verify(t *testing.T, s *memory.Store) {
	t.Helper()
	if problems, err := s.Verify(context.Background()); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
}

func models(t *testing.T, s *memory.Store) map[string]int {
	t.Helper()
	stats, err := s.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	vectors := map[string]int{}
	for _, m := range stats.Models {
		vectors[m.Name] = m.Vectors
	}
	return vectors
}

// vectorSpaces counts the agents and models that have vectors.
func vectorSpaces(t *testing.T, dir string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM vector_spaces").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// While another model's vectors are made, and the embedder fails in between,
// the old ones answer; then all change at once and nothing of the old is left.
func TestReindexToAnotherModel(t *testing.T) {
	ctx := context.Background()
	s, dir := twoAgents(t)
	old, oldModel := builtin(t)
	a := &axis{serves: 600}
	result, err := s.Reindex(ctx, a, a.model(), []string{"a", "b"}, nil)
	if err != nil || result.Done || result.Waiting == 0 || result.Pending != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	verify(t, s)
	found, err := s.Recall(ctx, memory.Query{Text: "importer", Rank: memory.RankVector}, old, oldModel)
	if err != nil || len(found.Hits) == 0 {
		t.Fatalf("the old vectors do not answer: %v, %v", found.Hits, err)
	}
	waited := result.Waiting
	a.serves = 703 - 512 // the page that was done is not done again
	if result, err = s.Reindex(ctx, a, a.model(), []string{"a", "b"}, nil); err != nil || !result.Done || result.Vectors != 703 {
		t.Fatalf("%+v, %v, %d had waited", result, err, waited)
	}
	verify(t, s)
	if got := models(t, s); len(got) != 1 || got[a.model().String()] != 703 {
		t.Fatal(got)
	}
	if n := vectorSpaces(t, dir); n != 2 {
		t.Fatalf("%d agents have vectors", n)
	}
	a.serves = 10
	if found, err = s.Recall(ctx, memory.Query{Text: "importer", Rank: memory.RankVector}, a, a.model()); err != nil || len(found.Hits) == 0 {
		t.Fatal(found.Hits, err)
	}
}

// Only one agent: the other keeps its vectors, and both are consistent.
func TestReindexOfOneAgent(t *testing.T) {
	s, _ := twoAgents(t)
	_, old := builtin(t)
	a := &axis{serves: 3}
	if result, err := s.Reindex(context.Background(), a, a.model(), []string{"b"}, nil); err != nil || !result.Done || result.Vectors != 3 {
		t.Fatalf("%+v, %v", result, err)
	}
	verify(t, s)
	if got := models(t, s); got[a.model().String()] != 3 || got[old.String()] != 700 || len(got) != 2 {
		t.Fatal(got)
	}
}

// The same model again: unused rows are gone, what is found is the same, and
// it can be done any number of times.
func TestReindexTakesRoomBack(t *testing.T) {
	ctx := context.Background()
	s, dir := twoAgents(t)
	if _, err := s.Forget(ctx, memory.Selection{Agent: "b"}); err != nil {
		t.Fatal(err)
	}
	changed := record(5, "another text under the old id")
	changed.ID = record(5, "record 5 about the importer").ID
	put(t, s, changed)
	embedAll(t, s, "a")
	b, m := builtin(t)
	size := int64(0)
	for range 3 {
		before := recall(t, s, memory.Query{Text: "record 17 importer", Limit: 20})
		if result, err := s.Reindex(ctx, b, m, []string{"a"}, nil); err != nil || result.Vectors != 700 {
			t.Fatalf("%+v, %v", result, err)
		}
		verify(t, s)
		info, err := os.Stat(filepath.Join(dir, "memory.db"))
		if err != nil || size > 0 && info.Size() > size {
			t.Errorf("the database has %d bytes, it had %d (%v)", info.Size(), size, err)
		}
		size = info.Size()
		after := recall(t, s, memory.Query{Text: "record 17 importer", Limit: 20})
		for i, h := range before.Hits {
			if after.Hits[i].ID != h.ID {
				t.Fatalf("hit %d is %s, was %s", i, after.Hits[i].ID, h.ID)
			}
		}
	}
	if n := vectorSpaces(t, dir); n != 1 { // nothing is left of b
		t.Fatalf("%d agents have vectors", n)
	}
}

// What was forgotten leaves no numbers either, and what stands beside it stays.
func TestForgetOverwritesVectors(t *testing.T) {
	s, dir := newStore(t)
	put(t, s, record(0, "the heron"))
	embedAll(t, s, "a")
	gone := vectorsOf(t, dir, "s1")
	put(t, s, record(1, "the otter"))
	embedAll(t, s, "a")
	if len(gone) != 1 || len(filesWith(t, dir, gone[0])) == 0 {
		t.Fatalf("there is nothing to forget: %q", gone)
	}
	if _, err := s.Forget(context.Background(), memory.Selection{ID: record(0, "the heron").ID}); err != nil {
		t.Fatal(err)
	}
	if left := filesWith(t, dir, gone[0]); len(left) > 0 || len(vectorsOf(t, dir, "s1")) != 1 {
		t.Fatalf("traces in %v", left)
	}
	verify(t, s)
	if hits := recall(t, s, memory.Query{Text: "otter", Rank: memory.RankVector}).Hits; len(hits) != 1 {
		t.Fatal(hits)
	}
}

// interrupted is an embedder whose user gives up during a call.
type interrupted struct {
	vectors func(texts []string) ([][]float32, error)
	cancel  context.CancelFunc
	calls   int
	at      int
}

// EmbedDocuments implements embed.Embedder.
func (i *interrupted) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	if i.calls++; i.calls == i.at {
		i.cancel()
		return nil, ctx.Err()
	}
	return i.vectors(texts)
}

// What a server has embedded is stored after each batch: an interruption in the
// third costs only that.
func TestInterruptedServerKeepsItsBatches(t *testing.T) {
	s, _ := newStore(t)
	var records []memory.Record
	for i := range 200 {
		records = append(records, record(i, fmt.Sprintf("the heron of day %d", i)))
	}
	put(t, s, records...)
	b, m := builtin(t)
	m.Provider = "server"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e := &interrupted{cancel: cancel, at: 3, vectors: func(texts []string) ([][]float32, error) { return b.EmbedDocuments(context.Background(), texts) }}
	if _, err := s.EmbedPending(ctx, e, m, "a", nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	open, _, err := s.CountPending(context.Background(), m, "a")
	if err != nil || open != 200-2*64 {
		t.Fatalf("%d are pending, %v", open, err)
	}
}
