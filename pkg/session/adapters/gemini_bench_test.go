package adapters_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/gemini"
)

// BenchmarkGeminiScan reads a chat of 3 MB, as lines and as one document.
func BenchmarkGeminiScan(b *testing.B) {
	var lines, document []string
	for n := range 5_000 {
		q := geminiSaid(fmt.Sprint("u", n), "user", fmt.Sprint("question ", n, strings.Repeat(" and more", 30)))
		a := geminiSaid(fmt.Sprint("g", n), "gemini", fmt.Sprint("answer ", n), hundred)
		lines = append(lines, q, `{"$set":{"lastUpdated":"2026-11-21T03:53:15.144Z"}}`, a)
		document = append(document, q, a)
	}
	for name, log := range map[string]string{
		"lines":    head + "\n" + strings.Join(lines, "\n") + "\n",
		"document": `{"sessionId":"s","projectHash":"h","messages":[` + strings.Join(document, ",\n") + `]}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				scan, err := new(gemini.Store).Scan(context.Background(), bytes.NewReader([]byte(log)), session.ScanOptions{}, func(*session.Message) error { return nil })
				if err != nil || scan.Messages != 10_000 {
					b.Fatal(err, scan.Messages)
				}
			}
		})
	}
}
