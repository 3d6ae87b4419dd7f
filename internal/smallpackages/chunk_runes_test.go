package smallpackages_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/chunk"
)

func TestChunkCountRunes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		valid := anyChunkText(t, false)
		if got, want := chunk.CountRunes([]byte(valid)), int64(utf8.RuneCountInString(valid)); got != want {
			t.Fatalf("%q: %d, want %d", valid, got, want)
		}
		any := anyChunkText(t, true)
		if got, want := chunk.CountRunes([]byte(any)), int64(len(splitRunes(any))); got != want {
			t.Fatalf("%q: %d, want %d", any, got, want)
		}
	})
}

// TestChunkCountRunesOfDamaged: texts of whole sequences are counted by words of eight
// bytes, and one in which a single byte is wrong must not be.
func TestChunkCountRunesOfDamaged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"語", "é", "🐟", "a", "語", "字語", "語🐟é", "a語語語b", "語語語語語語語語語語é"}).Draw(t, "unit")
		text := []byte(strings.Repeat("x", rapid.IntRange(0, 9).Draw(t, "shift")) + strings.Repeat(unit, rapid.IntRange(0, 40).Draw(t, "repeats")))
		if rapid.Bool().Draw(t, "damage") && len(text) > 0 {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		if got, want := chunk.CountRunes(text), int64(len(splitRunes(string(text)))); got != want {
			t.Fatalf("%q: %d, want %d", text, got, want)
		}
	})
}

func FuzzChunkCountRunes(f *testing.F) {
	for _, s := range []string{"", "a", "é", "\x80", strings.Repeat("a", 31) + "é", strings.Repeat("a", 39) + "\xe4\xb8", "\xf8\x80\x80\x80\x80", "\xf0\x9f\x90\x9f\x80", strings.Repeat("語", 17) + "\x80語", strings.Repeat("語", 16) + "\xe4語", strings.Repeat("語", 11) + "\xe8\x00\x9e" + strings.Repeat("語", 9)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := chunk.CountRunes(text), int64(len(splitRunes(string(text)))); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	})
}
