package embed

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Words that are read at once are those that are read letter by letter.
func TestPlainWordsAreReadAsOthers(t *testing.T) {
	pieces := []string{"a", "word", "Word", "WORD", "x1", "9", " ", "\n", ".", ":", "/", "-", "_", "'", "'s", "’t", "é", "\u0301", "\u00ad", "漢字", "::", "Ａ", "(", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for _, piece := range rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces") {
			text += piece
		}
		for _, cut := range []cutting{inText, inNames, inParts} {
			var got, want []string
			s := scanner{cut: cut, emit: func(w []byte, _ bool) { got = append(got, string(w)) }}
			s.scan(text)
			s.emit = func(w []byte, _ bool) { want = append(want, string(w)) }
			for s.text, s.pos = text, 0; s.pos < len(text); {
				switch _, size, k := next(text[s.pos:]); {
				case k.begins():
					s.compound()
				case k == unspaced:
					s.pairs()
				default:
					s.pos += size
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q has the words %q, letter by letter %q", text, got, want)
			}
		}
	})
}
