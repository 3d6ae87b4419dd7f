package openclaw

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/process"
)

// Whose a lock is, and whether it still counts.
func TestLocks(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "agents", "a", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now, start := time.Now().UTC().Truncate(time.Second), process.Look(os.Getpid()).Start
	young, old := now.Add(-time.Minute), now.Add(-2*time.Hour)
	stamp := func(at time.Time) string { return at.Format(time.RFC3339) }
	for name, text := range map[string]string{
		"1-live.jsonl.lock":    fmt.Sprintf(`{"pid":%d,"createdAt":%q,"starttime":%d}`, os.Getpid(), stamp(young), start),
		"2-dead.jsonl.lock":    fmt.Sprintf(`{"pid":2147483646,"createdAt":%q}`, stamp(young)),
		"3-old.jsonl.lock":     fmt.Sprintf(`{"pid":%d,"createdAt":%q,"starttime":%d}`, os.Getpid(), stamp(old), start),
		"4-garbage.jsonl.lock": "\x00\x00not json",
		"5-not-one.jsonl":      "{}",
		"6-reused.jsonl.lock":  fmt.Sprintf(`{"pid":%d,"createdAt":%q,"starttime":1}`, os.Getpid(), stamp(young)),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Open(root, Options{}).Locks(context.Background(), now)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	want := []session.RuntimeLock{
		{Path: at("1-live.jsonl.lock"), Process: os.Getpid(), Alive: true, Since: young},
		{Path: at("2-dead.jsonl.lock"), Process: 2147483646, Since: young, Stale: true},
		{Path: at("3-old.jsonl.lock"), Process: os.Getpid(), Alive: true, Since: old, Stale: true},
		{Path: at("4-garbage.jsonl.lock"), Since: old, Stale: true},
	}
	if process.Look(os.Getpid()).Known {
		want = append(want, session.RuntimeLock{Path: at("6-reused.jsonl.lock"), Process: os.Getpid(), Since: young, Stale: true})
	} else {
		want = append(want, session.RuntimeLock{Path: at("6-reused.jsonl.lock"), Process: os.Getpid(), Alive: true, Since: young})
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatal(d)
	}
}
