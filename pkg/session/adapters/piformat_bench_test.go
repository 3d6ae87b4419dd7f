package adapters_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

func BenchmarkPiformatScan(b *testing.B) {
	log := readSample(b, "pi/large-session.jsonl")
	var text []byte
	run := func(b *testing.B, o session.ScanOptions, use func(*session.Message)) {
		b.SetBytes(int64(len(log)))
		b.ReportAllocs()
		for b.Loop() {
			_, err := piformat.Scan(context.Background(), bytes.NewReader(log), o, func(m *session.Message) error {
				use(m)
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("only", func(b *testing.B) { run(b, session.ScanOptions{}, func(*session.Message) {}) })
	b.Run("text", func(b *testing.B) {
		run(b, session.ScanOptions{}, func(m *session.Message) { text = m.AppendText(text[:0]) })
	})
	b.Run("clean text", func(b *testing.B) {
		var clean []byte
		run(b, session.ScanOptions{}, func(m *session.Message) {
			if m.Embeddable() {
				text = m.AppendText(text[:0])
				clean, _ = session.Clean(append(clean[:0], text...))
			}
		})
	})
}

func BenchmarkPiformatTail(b *testing.B) {
	log := readSample(b, "pi/large-session.jsonl")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := piformat.Tail(context.Background(), bytes.NewReader(log), int64(len(log)), time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPiformatCountMessages(b *testing.B) {
	log := readSample(b, "pi/large-session.jsonl")
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		if n, err := piformat.CountMessages(context.Background(), bytes.NewReader(log)); err != nil || n != 914 {
			b.Fatal(n, err)
		}
	}
}
