package jsonl

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// indexText draws text that is full of what the index is about, and long
// enough to have several blocks.
func indexText(t *rapid.T) []byte {
	alphabet := rapid.SampledFrom([]byte("\"\"\\\\\\a !#[]\x00\x1f\x7f\x80\xff\xa2\xdc"))
	n := rapid.IntRange(0, 300).Draw(t, "length")
	return rapid.SliceOfN(alphabet, n, n).Draw(t, "text")
}

func TestIndexIsTheNaiveOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := indexText(t)
		var x index
		x.build([]byte("some longer text before, so that old bits are left over \\\"\\\" in the memory that is used again"))
		x.build(text)
		high := bytes.IndexFunc(text, func(r rune) bool { return r > 0x7f }) >= 0
		control := bytes.IndexFunc(text, func(r rune) bool { return r < ' ' }) >= 0
		if x.high != high || x.control != control {
			t.Fatalf("%q: high %v control %v", text, x.high, x.control)
		}
		quotes, escaped := naiveIndex(text)
		for i := range text {
			if got := x.blocks[i>>6].quotes>>(i&63)&1 == 1; got != quotes[i] {
				t.Fatalf("%q: quote at %d is %v", text, i, got)
			}
			if got := x.blocks[i>>6].escaped>>(i&63)&1 == 1; got != escaped[i] {
				t.Fatalf("%q: escape at %d is %v", text, i, got)
			}
		}
	})
}

func TestIndexInAssemblyIsTheOneInGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := indexText(t)
		carry := rapid.Uint64Range(0, 1).Draw(t, "carry")
		got, want := make([]block, len(text)/64), make([]block, len(text)/64)
		gotCarry, gotFlags := indexBlocks(text, got, carry)
		wantCarry, wantFlags := indexBlocksGo(text, want, carry)
		if gotCarry != wantCarry || gotFlags != wantFlags {
			t.Fatalf("%q: carry %d flags %b, want %d %b", text, gotCarry, gotFlags, wantCarry, wantFlags)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{})); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	})
}
