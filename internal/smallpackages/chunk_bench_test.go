package smallpackages_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/chunk"
)

func chunkBenchTexts() map[string]string {
	return map[string]string{
		"ascii": strings.Repeat("The importer stopped at line 4812 with exit code 2; retry after the lock is gone.\n", 12_000),
		"mixed": strings.Repeat("The importer stopped at line 4812 – naïve café data, 数据 ok, and then it went on. ", 12_000),
		"cjk":   strings.Repeat("会话日志的压缩不会丢失任何一个字符。", 18_000),
	}
}

// BenchmarkChunker cuts one text of about a megabyte.
func BenchmarkChunker(b *testing.B) {
	for name, text := range chunkBenchTexts() {
		b.Run(name, func(b *testing.B) {
			c := chunk.New(chunk.Options{}, func(*chunk.Chunk) error { return nil })
			p := chunk.Piece{Label: "[Human]", Text: []byte(text)}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Add(p); err != nil {
					b.Fatal(err)
				}
				if err := c.Flush(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMessages cuts texts of 600 bytes, four a block.
func BenchmarkChunkMessages(b *testing.B) {
	for name, text := range chunkBenchTexts() {
		b.Run(name, func(b *testing.B) {
			c := chunk.New(chunk.Options{}, func(*chunk.Chunk) error { return nil })
			p := chunk.Piece{Label: "[Human]", Text: []byte(text[:600])}
			b.SetBytes(600)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Add(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRuneSlice is the same cut by way of a slice of runes.
func BenchmarkChunkRuneSlice(b *testing.B) {
	for name, text := range chunkBenchTexts() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				runes := []rune("[Human]: " + text)
				for at := 0; ; at += 3300 {
					end := min(at+3500, len(runes))
					chunkSink = string(runes[at:end])
					if end == len(runes) {
						break
					}
				}
			}
		})
	}
}

var chunkSink string

// BenchmarkCountRunes counts the code points of about a megabyte.
func BenchmarkChunkCountRunes(b *testing.B) {
	for name, text := range chunkBenchTexts() {
		b.Run(name, func(b *testing.B) {
			data := []byte(text)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				chunk.CountRunes(data)
			}
		})
	}
}
