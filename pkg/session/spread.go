package session

import (
	"context"
	"sync"
	"sync/atomic"
)

// Spread calls do once for each number from 0 to n-1, on as many goroutines as
// there are workers, of which each has its own number from 0 on. With one worker
// the calls come one after the other, in order, on the caller's goroutine. It
// returns when all calls have returned, and begins none after ctx has ended:
// then it returns the context's error.
//
// What the calls find belongs under their number, so that the outcome does not
// depend on who was faster.
func Spread(ctx context.Context, workers, n int, do func(worker, i int)) error {
	var next atomic.Int64
	work := func(worker int) {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			do(worker, i)
		}
	}
	if workers = min(workers, n); workers <= 1 {
		work(0)
		return ctx.Err()
	}
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() { work(worker) })
	}
	all.Wait()
	return ctx.Err()
}
