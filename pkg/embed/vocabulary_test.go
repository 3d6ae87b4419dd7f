package embed

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A vocabulary reads the terms that AppendTerms appends, in their order, whatever
// texts it has read before.
func TestVocabularyReadsTheTerms(t *testing.T) {
	pieces := []string{"the", "hopping", "Hopped", "sessionId", "HTTPServer", "v1.2.3", "it's", "don't", "Çava", "東京の天気", "straße", "a_b-c/d", "::", " ", "\n", ".", "'", "’s", "\u00ad", "x9", strings.Repeat("ab", 140), "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		v := NewVocabulary()
		for range 3 {
			text := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String()), 0, 12).Draw(t, "text"), "")
			var got []string
			v.Read(text, func(number int32) { got = append(got, v.Terms()[number]) })
			if want := string(AppendTerms(nil, text)); strings.Join(append(got, ""), " ") != want {
				t.Fatalf("%q has %q, want %q", text, got, want)
			}
		}
	})
}
