package embed

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRealOllama embeds with a real server: the one that OLLAMA_TEST_URL names,
// or the one of an installed ollama. The model is OLLAMA_TEST_MODEL.
func TestRealOllama(t *testing.T) {
	base := os.Getenv("OLLAMA_TEST_URL")
	if base == "" {
		if _, err := exec.LookPath("ollama"); err != nil {
			t.Skip("skipped: there is no ollama program, and OLLAMA_TEST_URL names no server")
		}
		base = OllamaURL(os.Getenv("OLLAMA_HOST"))
	}
	model := cmp.Or(os.Getenv("OLLAMA_TEST_MODEL"), DefaultOllamaModel)
	o, err := NewOllama(RemoteOptions{BaseURL: base, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	m, err := o.Identify(t.Context())
	if errors.Is(err, ErrUnavailable) && os.Getenv("OLLAMA_TEST_URL") == "" {
		t.Skip("skipped: ollama is installed, but does not serve the model:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log(m)
	texts := []string{
		"the importer hangs when the delivery slot is empty", "we painted the boat green", "\x00 odd <b> \"text\" 漢字",
		strings.Repeat("a text that is far too long for the model, ", 4000), "", "port 8472 was chosen for the importer",
	}
	vectors := map[string][]float32{}
	for r := range Batches(t.Context(), o, texts, BatchOptions{Dim: m.Dim}) {
		if texts[r.Index] == "" {
			if !errors.Is(r.Err, ErrNoVector) {
				t.Errorf("the empty text: %v", r.Err)
			}
			continue
		}
		if r.Err != nil {
			t.Fatalf("text %d: %v", r.Index, r.Err)
		}
		vectors[texts[r.Index]] = r.Vector
	}
	alone, err := o.EmbedDocuments(t.Context(), texts[:1])
	if err != nil {
		t.Fatal(err)
	}
	if c := cosine(alone[0], vectors[texts[0]]); c < 0.999 {
		t.Errorf("alone and in a batch: cosine %v", c)
	}
	query, err := o.EmbedQuery(t.Context(), "why does the importer hang")
	if err != nil {
		t.Fatal(err)
	}
	if near, far := cosine(query, vectors[texts[0]]), cosine(query, vectors[texts[1]]); near <= far {
		t.Errorf("cosine to what answers it %v, to what does not %v", near, far)
	}
	none, err := NewOllama(RemoteOptions{BaseURL: base, Model: "no-such-model"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.EmbedDocuments(t.Context(), texts[:1]); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a model that is not there: %v", err)
	}
}
