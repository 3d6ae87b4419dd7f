package archive_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPut archives 32 MiB: hash, write, sync, read back.
func BenchmarkPut(b *testing.B) {
	const size = 32 << 20
	text := sessionText(size, 13)
	for _, compression := range []string{"none", "zstd"} {
		b.Run(compression, func(b *testing.B) {
			s, err := newStore(b.TempDir(), compression)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			for i := 0; b.Loop(); i++ {
				if _, err := s.Put(context.Background(), meta(fmt.Sprint("s", i)), strings.NewReader(text), size, noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVerify reads 32 MiB of session back.
func BenchmarkVerify(b *testing.B) {
	const size = 32 << 20
	text := sessionText(size, 13)
	for _, compression := range []string{"none", "zstd"} {
		b.Run(compression, func(b *testing.B) {
			s, err := newStore(b.TempDir(), compression)
			if err != nil {
				b.Fatal(err)
			}
			e, err := s.Put(context.Background(), meta("s"), strings.NewReader(text), size, noon)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			for b.Loop() {
				if err := s.Verify(context.Background(), e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
