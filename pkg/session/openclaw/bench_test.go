package openclaw_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// BenchmarkList lists an agent with 116 sessions and an index of 800 KB, the
// size at which `sizes` is measured (docs/dev/performance.md).
func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	dir := filepath.Join(root, "agents", agent, "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	var index []string
	snapshot := strings.Repeat("a skill and what it is good for, ", 200)
	for i := range 116 {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		if err := os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(transcript(id)), 0o600); err != nil {
			b.Fatal(err)
		}
		index = append(index, fmt.Sprintf(`  "agent:coordinator:cron:%d": {"sessionId": %q, "updatedAt": %d, "totalTokens": 1, "skillsSnapshot": {"prompt": %q}}`, i, id, i, snapshot))
	}
	if err := os.WriteFile(filepath.Join(dir, "sessions.json"), []byte("{\n"+strings.Join(index, ",\n")+"\n}"), 0o600); err != nil {
		b.Fatal(err)
	}
	store := openclaw.Open(root, openclaw.Options{})
	b.ReportAllocs()
	for b.Loop() {
		listing, err := store.List(context.Background())
		if err != nil || len(listing.Refs) != 116 {
			b.Fatal(len(listing.Refs), err)
		}
	}
}
