package session_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

func TestCheckQuiet(t *testing.T) {
	path := tempLog(t, "a\n")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		age    time.Duration
		quiet  time.Duration
		reason string // "" for quiet
	}{
		{time.Minute, time.Minute, ""},
		{time.Minute - time.Millisecond, time.Minute, "changed 1m0s ago"},
		{5 * time.Second, time.Minute, "changed 5s ago; it is skipped until it has been unchanged for 1m0s"},
		{0, time.Minute, "changed 0s ago"},
		{-5 * time.Second, time.Minute, "changed 5s in the future"},
		{-time.Hour, time.Minute, ""},
		{0, 0, ""},
		{24 * time.Hour, time.Minute, ""},
	} {
		touch(t, path, now.Add(-c.age))
		wantReason(t, session.CheckQuiet(path, mustStat(t, path), now, c.quiet), c.reason)
	}
}

func TestCheckWhole(t *testing.T) {
	for _, c := range []struct {
		text   string
		listed int64
		reason string
	}{
		{"", 0, "it is empty"},
		{"", 5, "it is empty"},
		{"abc\n", 5, "it was 5 bytes long and is 4 now"},
		{"abc\n", 4, ""},
		{"abc\n", 3, ""},
	} {
		path := tempLog(t, c.text)
		wantReason(t, session.CheckWhole(session.Ref{Path: path, Bytes: c.listed}, mustStat(t, path)), c.reason)
	}
}

func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	var busy *session.BusyError
	switch {
	case reason == "" && err != nil:
		t.Errorf("%v, want none", err)
	case reason != "" && (!errors.As(err, &busy) || !strings.Contains(busy.Reason, reason)):
		t.Errorf("%v, want a BusyError with %q", err, reason)
	}
}

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

// A panic of a call is one of the caller, whatever the number of workers, and
// begins when nothing runs any more.
func TestSpreadPanics(t *testing.T) {
	for _, workers := range []int{1, 2} {
		var running atomic.Int32
		cause := func() (cause any) {
			defer func() { cause = recover() }()
			_ = session.Spread(t.Context(), workers, 1000, func(_, i int) {
				running.Add(1)
				defer running.Add(-1)
				if i == 5 {
					panic("call 5")
				}
			})
			return nil
		}()
		if text, ok := cause.(string); !ok || !strings.HasPrefix(text, "call 5") || running.Load() != 0 {
			t.Errorf("%d workers: %v, %d running", workers, cause, running.Load())
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
