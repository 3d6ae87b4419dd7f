package session_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

// Every number is worked on once, by a worker that does nothing else meanwhile.
func TestSpread(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 2, 3, 100} {
		for _, n := range []int{0, 1, 2, 50} {
			var mu sync.Mutex
			var seen []int
			busy := make([]atomic.Int32, max(workers, 1))
			err := session.Spread(t.Context(), workers, n, func(worker, i int) {
				if busy[worker].Add(1) != 1 {
					t.Errorf("worker %d does two things at once", worker)
				}
				runtime.Gosched()
				mu.Lock()
				seen = append(seen, i)
				mu.Unlock()
				busy[worker].Add(-1)
			})
			if workers <= 1 && !slices.IsSorted(seen) {
				t.Errorf("one worker, in order %v", seen)
			}
			slices.Sort(seen)
			if err != nil || len(seen) != n || n > 0 && (seen[0] != 0 || seen[n-1] != n-1 || len(slices.Compact(seen)) != n) {
				t.Errorf("%d workers: %v, %v", workers, seen, err)
			}
		}
	}
}

// After the context has ended nothing begins, and nothing is left running.
func TestSpreadEnds(t *testing.T) {
	for _, workers := range []int{1, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		var running, begun atomic.Int32
		err := session.Spread(ctx, workers, 1000, func(_, i int) {
			running.Add(1)
			defer running.Add(-1)
			if begun.Add(1) == 5 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || running.Load() != 0 || int(begun.Load()) >= 5+workers {
			t.Errorf("%d workers: %v, %d begun, %d running", workers, err, begun.Load(), running.Load())
		}
	}
}
