package embed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// countsOf are the terms that AppendTerms appends, each once, with how often.
func countsOf(text string) (list []string) {
	times := map[string]int{}
	fields := strings.Fields(string(AppendTerms(nil, text)))
	for _, term := range fields {
		times[term]++
	}
	for i, term := range fields {
		if slices.Index(fields, term) == i {
			list = append(list, fmt.Sprint(term, " ", times[term]))
		}
	}
	return list
}

// readCounts are those of the text that a reader has read last.
func readCounts(r *Reader) (list []string) {
	for _, c := range r.AppendCounts(nil) {
		list = append(list, fmt.Sprint(r.Vocabulary().Terms()[c.Number], " ", c.Times))
	}
	return list
}

// A reader has the terms that AppendTerms appends, and the vector that the
// embedder makes, whatever texts it has read before.
func TestReaderReadsTermsAndVectors(t *testing.T) {
	e := newBuiltin(t)
	pieces := []string{"the", "hopping", "Hopped", "sessionId", "HTTPServer", "v1.2.3", "it's", "don't", "Çava", "東京の天気", "straße", "a_b-c/d", "::", " ", "\n", ".", "'", "’s", "\u00ad", "x9", strings.Repeat("ab", 140), "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		r, fewPlaces := NewReader(e), NewReader(e)
		fewPlaces.reading.recent = fewPlaces.reading.recent[:1] // most words find theirs taken
		for range 3 {
			text := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String()), 0, 12).Draw(t, "text"), "")
			r.Read(text)
			fewPlaces.Read(text)
			want := countsOf(text)
			for _, one := range []*Reader{r, fewPlaces} {
				if got := readCounts(one); !slices.Equal(got, want) {
					t.Fatalf("%q has %q, want %q", text, got, want)
				}
				checkReaderVector(t, one, e, text)
			}
			if rapid.Bool().Draw(t, "renew") {
				r.Renew()
			}
		}
	})
}

// checkReaderVector holds the vector of a reader to that of the embedder.
func checkReaderVector(t *rapid.T, r *Reader, e *Builtin, text string) {
	vector := make([]float32, e.Model().Dim)
	err := r.Vector(vector)
	want, wantErr := e.EmbedDocuments(context.Background(), []string{text})
	if (err != nil) != (wantErr != nil) || err != nil && !errors.Is(wantErr, err) {
		t.Fatalf("%q: %v, want %v", text, err, wantErr)
	}
	if err == nil && !slices.Equal(vector, want[0]) {
		t.Fatalf("%q has another vector", text)
	}
}
