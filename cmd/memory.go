package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/memory"
)

func newMemoryCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "memory",
		Short: "Look after the memory: count, check, make anew, forget",
		Long: `The memory is what recall searches: the texts of compacted sessions, their
words and their vectors. All of it can be made again from the archives.
` + exitHelp,
		Example: `  sessctl memory stats
  sessctl memory verify
  sessctl memory reindex --pending
  sessctl memory reindex --from-archives
  sessctl memory forget --session 4f0c1d2e
  sessctl memory export --output memories.jsonl`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newMemoryStatsCommand(a), newMemoryVerifyCommand(a), newMemoryReindexCommand(a), newMemoryForgetCommand(a), newMemoryExportCommand(a))
	return c
}

// readMemory opens the memory to look at it. That there is none is an error
// that says how one comes about.
func (a *app) readMemory(ctx context.Context) (*memory.Store, error) {
	return a.needMemory(memory.Open(ctx, a.memoryDir(), memory.Options{ReadOnly: true}))
}

// needMemory turns what came of opening the memory into what a person is told.
func (a *app) needMemory(store *memory.Store, err error) (*memory.Store, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &failure{code: "no_memory", exit: exitFailed, path: a.memoryDir(), hint: "compact a session first: sessctl compact --agent NAME", err: fmt.Errorf("there is no memory yet in %s", a.memoryDir())}
	}
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	return store, nil
}

// glimpseMemory opens the memory for a dry run: without SQLite's files beside
// it, which would be made and removed. Only if another run is at work, or a
// killed one has left changes beside it, it is read in the usual way.
func (a *app) glimpseMemory(ctx context.Context) (*memory.Store, error) {
	if !a.atWork() {
		store, err := memory.Open(ctx, a.memoryDir(), memory.Options{NoTrace: true})
		if !errors.Is(err, memory.ErrInUse) {
			return store, err
		}
	}
	return memory.Open(ctx, a.memoryDir(), memory.Options{ReadOnly: true})
}

// openSettled opens everything that a state-changing command needs, and
// finishes what earlier runs began. That no store is found is no error here:
// the memory and the archives are there without one.
func (a *app) openSettled(ctx context.Context) (*house, error) {
	all, _, err := a.listStores(ctx)
	if f := (*failure)(nil); err != nil && !(errors.As(err, &f) && f.code == "no_store" && len(a.global.Stores) == 0) {
		return nil, err
	}
	h, err := a.openHouse(ctx, "")
	if err != nil {
		return nil, err
	}
	if _, err := h.settle(ctx, a, all.sessions, settling()); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}
