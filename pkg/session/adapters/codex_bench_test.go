package adapters_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/codex"
)

// BenchmarkCodexScan reads a real rollout of 0.169, 150 KB, over and over.
func BenchmarkCodexScan(b *testing.B) {
	log := codexReadLog(b, samples.Beside(b, "samples/real/codex/rollout-2026-11-21T03-42-22-01a1fc32-ae0f-7cc0-b105-9609e89100ec.jsonl"))
	log = bytes.Repeat(log, 20)
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := new(codex.Store).Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(*session.Message) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCodexTail(b *testing.B) {
	log := codexReadLog(b, samples.Beside(b, "samples/real/codex/rollout-2026-11-21T03-42-22-01a1fc32-ae0f-7cc0-b105-9609e89100ec.jsonl"))
	for b.Loop() {
		codexTailOf(b, log)
	}
}
