package claude

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
)

// benchLog is a real session with sub-agents in it, 32 times in a row.
func benchLog(b *testing.B) []byte {
	return bytes.Repeat(samples.Read(b, "claude-code/d-kimuson/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl"), 32)
}

func BenchmarkScan(b *testing.B) {
	log := benchLog(b)
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := Open(".").Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(*session.Message) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTail(b *testing.B) {
	log := benchLog(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newTailReader(int64(len(log))).tail(context.Background(), bytes.NewReader(log), time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
}
