package embed

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
)

// chunkOf cuts text, repeated as often as needed, to n runes.
func chunkOf(text string, n int) string {
	text = strings.Repeat(text, n/utf8.RuneCountInString(text)+1)
	return string([]rune(text)[:n])
}

// BenchmarkDocument embeds a chunk of 3,500 characters. The aim is at most
// 0.3 ms and one allocation a vector.
func BenchmarkDocument(b *testing.B) {
	for name, text := range map[string]string{"prose": prose, "code": code, "japanese": japanese} {
		b.Run(name, func(b *testing.B) {
			e, err := NewBuiltin()
			if err != nil {
				b.Fatal(err)
			}
			texts := []string{chunkOf(text, 3500)}
			b.ReportAllocs()
			b.SetBytes(int64(len(texts[0])))
			for b.Loop() {
				if _, err := e.EmbedDocuments(context.Background(), texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkQuery(b *testing.B) {
	e, err := NewBuiltin()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.EmbedQuery(context.Background(), "when did we change sessionId in pkg/session?"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is what NewBuiltin costs.
func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewBuiltin(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	table, err := wordtable.Open(builtinTable)
	if err != nil {
		b.Fatal(err)
	}
	word := []byte("conversation")
	for b.Loop() {
		if table.Lookup(wordtable.Hash(word), word) < 0 {
			b.Fatal("not found")
		}
	}
}
