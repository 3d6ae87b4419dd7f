package session

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Cleaning in place gives what cleaning into another buffer gives.
func TestCleanInPlace(t *testing.T) {
	pieces := []string{"words ", "\r\n", "\r", "\f", "\x00", "\x1b[31mred\x1b[0m", "\u200b", "配送", "\u202e", string(bytes.Repeat([]byte("QUJD"), 200)), "data:image/png;base64," + string(bytes.Repeat([]byte("iVBO"), 40)), "\n", "\xff"}
	rapid.Check(t, func(r *rapid.T) {
		var text []byte
		for range rapid.IntRange(0, 12).Draw(r, "pieces") {
			text = append(text, rapid.SampledFrom(pieces).Draw(r, "piece")...)
		}
		want, wantLeftOut := cleanCopy(text)
		got, leftOut := Clean(slices.Clone(text))
		if !bytes.Equal(got, want) || leftOut != wantLeftOut {
			r.Fatalf("%q: %q and %d left out, want %q and %d", text, got, leftOut, want, wantLeftOut)
		}
	})
}

// cleanCopy is Clean into another buffer.
func cleanCopy(text []byte) (clean []byte, leftOut int64) {
	clean, leftOut = appendPrintable(nil, text)
	clean, binary := cutBinary(clean, 0)
	return clean, leftOut + binary
}
