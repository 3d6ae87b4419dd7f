package durable

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestLockWithin: it waits for the holder, for the time that it is given, and for
// as long as anybody wants it.
func TestLockWithin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockWithin(t.Context(), Lock, path, 0); !errors.Is(err, ErrLocked) {
		t.Errorf("without a wait: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := LockWithin(ctx, Lock, path, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { held.Unlock() })
	lock, err := LockWithin(t.Context(), Lock, path, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
}
