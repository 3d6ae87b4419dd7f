package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
)

// openVault is openHouse for commands that work on archives alone: memory is
// opened only when an earlier run left something to settle, so that a damaged
// memory is no reason not to archive a session or to put one back. reason is
// what archives are made for ("archive", "restore").
func (a *app) openVault(ctx context.Context, reason string) (*house, error) {
	lock, err := a.lock(ctx)
	if err != nil {
		return nil, err
	}
	h := &house{lock: lock, progress: newProgress(a)}
	if h.compactor, err = a.newCompactor(h, ""); err != nil {
		h.close()
		return nil, err
	}
	h.compactor.Archiver = archiver{store: h.archives, now: a.now, reason: reason}
	return h, nil
}

// errUnsettled is returned when an earlier run cannot be finished because
// memory cannot be opened.
var errUnsettled = errors.New("an earlier run cannot be finished")

// settleVault is settle for a house without memory.
func (h *house) settleVault(ctx context.Context, a *app, sessions []found, policy compact.Policy) (int, error) {
	begun, err := h.compactor.Journal.List()
	if err != nil {
		return 0, err
	}
	if len(begun) > 0 && h.memory == nil {
		if h.memory, err = memory.Open(ctx, a.memoryDir(), memory.Options{}); err != nil {
			return 0, fmt.Errorf("%w: open memory: %w", errUnsettled, err)
		}
		ours := h.compactor.Archiver
		if h.compactor, err = a.newCompactor(h, ""); err != nil {
			return 0, err
		}
		h.compactor.Archiver = ours
	}
	return h.settle(ctx, a, sessions, policy)
}
