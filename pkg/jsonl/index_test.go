package jsonl

import (
	"testing"

	"pgregory.net/rapid"
)

// naiveIndex says what an index must hold, byte by byte.
func naiveIndex(text []byte) (quotes, escaped []bool) {
	quotes, escaped = make([]bool, len(text)), make([]bool, len(text))
	escape := false
	for i, c := range text {
		escaped[i] = escape
		quotes[i] = c == '"' && !escape
		escape = c == '\\' && !escape
	}
	return quotes, escaped
}

func TestIndexIsTheNaiveOne(t *testing.T) {
	alphabet := rapid.SampledFrom([]byte{'"', '\\', 'a', ' ', 0x80, 0x00, 0x1f, 0x7f, '!', '#', '[', ']', 0xff})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(alphabet, 0, 300).Draw(t, "text")
		var x index
		x.build([]byte("some longer text before, so that old bits are left over \\\"\\\" in the memory that is used again"))
		x.build(text)
		quotes, escaped := naiveIndex(text)
		for i := range text {
			if got := x.quotes[i>>6]>>(i&63)&1 == 1; got != quotes[i] {
				t.Fatalf("%q: quote at %d is %v", text, i, got)
			}
			if got := x.escaped[i>>6]>>(i&63)&1 == 1; got != escaped[i] {
				t.Fatalf("%q: escape at %d is %v", text, i, got)
			}
		}
	})
}

func TestIndexInAssemblyIsTheOneInGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]byte(`"\\\\a!#`+"\x00\x80\xff\x1f ")), 0, 400).Draw(t, "text")
		carry := rapid.Uint64Range(0, 1).Draw(t, "carry")
		n := len(text) / 64
		quotes, escaped := make([]uint64, n), make([]uint64, n)
		wantQuotes, wantEscaped := make([]uint64, n), make([]uint64, n)
		gotCarry, gotFlags := indexBlocks(text, quotes, escaped, carry)
		wantCarry, wantFlags := indexBlocksGo(text, wantQuotes, wantEscaped, carry)
		if gotCarry != wantCarry || gotFlags != wantFlags {
			t.Fatalf("%q: carry %d flags %b, want %d %b", text, gotCarry, gotFlags, wantCarry, wantFlags)
		}
		for k := range n {
			if quotes[k] != wantQuotes[k] || escaped[k] != wantEscaped[k] {
				t.Fatalf("%q: block %d is %x %x, want %x %x", text, k, quotes[k], escaped[k], wantQuotes[k], wantEscaped[k])
			}
		}
	})
}
