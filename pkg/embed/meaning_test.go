package embed_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
)

// Meaning is compared apart from the words: a text without a common word is
// near if it means the same, and repeating a name says nothing.
func TestEmbedMeaning(t *testing.T) {
	b, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	query, err := b.EmbedMeaning(ctx, "a vehicle with an engine")
	if err != nil {
		t.Fatal(err)
	}
	texts, err := b.EmbedDocuments(ctx, []string{"the car and its motor", "a poem about autumn leaves"})
	if err != nil {
		t.Fatal(err)
	}
	cosine := func(v []float32) (sum float64) {
		for i := range v {
			sum += float64(v[i]) * float64(query[i])
		}
		return sum
	}
	if near, far := cosine(texts[0]), cosine(texts[1]); near <= far+0.05 {
		t.Errorf("near %.3f, far %.3f", near, far)
	}
	if norm := cosine(query); norm < 0.9999 || norm > 1.0001 {
		t.Errorf("length %v", norm)
	}
	for _, text := range []string{"", "the of and", "qzxv01J9ZK3V5Q8R7T6Y4W2X1N0M"} {
		if _, err := b.EmbedMeaning(ctx, text); !errors.Is(err, embed.ErrNoVector) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
