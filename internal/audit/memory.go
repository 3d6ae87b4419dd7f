package audit

import (
	"context"
	"errors"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

// GlimpseMemory opens the memory for a dry run: without SQLite's files beside
// it, which would be made and removed. If another run is under way, or a killed
// one has left changes beside it, it is read in the usual way.
func GlimpseMemory(ctx context.Context, run *workspace.Run) (*memory.Store, error) {
	if !workspace.AtWork(&run.Settings) {
		store, err := memory.Open(ctx, run.MemoryDir(), memory.Options{NoTrace: true})
		if !errors.Is(err, memory.ErrInUse) {
			return store, err
		}
	}
	return memory.Open(ctx, run.MemoryDir(), memory.Options{ReadOnly: true, Pins: run.Pins})
}
