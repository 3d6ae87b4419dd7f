package main

import (
	"context"
	"math/rand/v2"

	"github.com/sessctl/sessctl/pkg/memory"
)

// scramble copies a memory and gives every record any importance.
func scramble(ctx context.Context, from *library, dir string) (*library, error) {
	store, err := memory.Open(ctx, dir, memory.Options{})
	if err != nil {
		return nil, err
	}
	random, agents := rand.New(rand.NewPCG(1, 2)), map[string]bool{}
	err = from.store.Export(ctx, memory.ExportOptions{}, func(page []memory.Exported) error {
		_, err := store.Put(ctx, memory.Source{}, func(yield func(memory.Record, error) bool) {
			for _, e := range page {
				e.Importance = random.Float64()
				agents[e.Agent] = true
				if !yield(e.Record, nil) {
					return
				}
			}
		})
		return err
	})
	to := &library{store, from.embedder, from.model}
	for agent := range agents {
		if err == nil {
			_, err = store.EmbedPending(ctx, to.embedder, to.model, agent, nil)
		}
	}
	return to, err
}
