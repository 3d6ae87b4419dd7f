package embed

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// testDim is the dimension of the server's vectors.
const testDim = 4

// server is an embedding server that speaks both protocols and misbehaves as a
// test says.
type server struct {
	*httptest.Server
	mutex  sync.Mutex
	inputs [][]string // of every request for vectors, with prefix
	bodies []map[string]any
	heads  []http.Header
	digest string
	// before may answer a request for vectors itself, and then returns true.
	before func(w http.ResponseWriter, r *http.Request, input []string) bool
	// change may change the vectors that are answered; nil is null.
	change func(input []string, vectors [][]any) [][]any
	model  string // as replies call it
	index  func(i int) any
}

func newServer(t *testing.T) *server {
	s := &server{digest: "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f", model: "test-model", index: func(i int) any { return i }}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		fmt.Fprintf(w, `{"models":[{"name":"other:latest","digest":"ffff"},{"name":"test-model:latest","digest":%q}]}`, s.digest)
	})
	mux.HandleFunc("POST /api/embed", s.embed)
	mux.HandleFunc("POST /v1/embeddings", s.embed)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *server) embed(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var input []string
	for _, text := range body["input"].([]any) {
		input = append(input, text.(string))
	}
	s.mutex.Lock()
	s.inputs, s.bodies, s.heads = append(s.inputs, input), append(s.bodies, body), append(s.heads, r.Header)
	s.mutex.Unlock()
	if s.before != nil && s.before(w, r, input) {
		return
	}
	vectors := make([][]any, len(input))
	for i, text := range input {
		vectors[i] = anyVector(vectorOf(text))
	}
	if s.change != nil {
		vectors = s.change(input, vectors)
	}
	reply := map[string]any{"model": s.model, "embeddings": vectors}
	if strings.HasPrefix(r.URL.Path, "/v1") {
		data := []any{}
		for i, v := range slices.Backward(vectors) { // in no order
			data = append(data, map[string]any{"object": "embedding", "index": s.index(i), "embedding": v})
		}
		reply = map[string]any{"object": "list", "model": s.model, "data": data}
	}
	_ = json.NewEncoder(w).Encode(reply)
}

// vectorOf is what the server makes of a text; not of unit length.
func vectorOf(text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	sum := h.Sum64()
	v := make([]float32, testDim)
	for i := range v {
		v[i] = float32(int8(sum>>(8*i))) + 0.5
	}
	return v
}

func anyVector(v []float32) []any {
	out := make([]any, len(v))
	for i, x := range v {
		out[i] = x
	}
	return out
}

func (s *server) calls() [][]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.inputs)
}

// testClock does not wait, and remembers what it should have.
type testClock struct{ slept []time.Duration }

func (c *testClock) clock() Clock {
	return Clock{
		Now: func() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			c.slept = append(c.slept, d)
			return ctx.Err()
		},
	}
}

// provider is what both embedders offer.
type provider interface {
	Embedder
	QueryEmbedder
	Identify(ctx context.Context) (Model, error)
}

// providers opens both on a server.
func providers(t *testing.T, s *server, o RemoteOptions) map[string]provider {
	t.Helper()
	o.BaseURL, o.Model = s.URL, "test-model"
	if o.Clock.Sleep == nil {
		o.Clock = (&testClock{}).clock()
	}
	ollama, err := NewOllama(o)
	if err != nil {
		t.Fatal(err)
	}
	openai, err := NewOpenAI(o)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]provider{"ollama": ollama, "openai": openai}
}

// both runs a test for each provider on a server of its own.
func both(t *testing.T, o RemoteOptions, test func(t *testing.T, s *server, p provider)) {
	for _, name := range []string{"ollama", "openai"} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			test(t, s, providers(t, s, o)[name])
		})
	}
}
