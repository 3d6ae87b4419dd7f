package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

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
