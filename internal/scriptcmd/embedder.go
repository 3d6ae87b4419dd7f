package scriptcmd

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// embeddingKey is where a script's embedding server is kept.
type embeddingKey struct{}

// scriptEmbedding is a server that speaks Ollama's protocol and OpenAI's. Its
// vectors count hashed words.
type scriptEmbedding struct {
	mutex    sync.Mutex
	server   *http.Server
	address  string
	digest   string
	down     bool // answers 503
	poison   string
	requests int // for vectors
	texts    int
	prefixed int
	keys     map[string]int
}

// embedder start starts the script's embedding server and sets $EMBEDDER to its
// URL; stop stops it, start again takes the same port. embedder pull DIGEST
// gives the model another digest, embedder busy answers 503, embedder ready
// ends that. embedder poison WORD answers 500 to every request with that word.
// embedder sent KIND N fails unless N texts (or prefixed texts, or texts with
// the key KIND) came.
func embedder(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(embeddingKey{}).(*scriptEmbedding)
	if neg || len(args) == 0 {
		ts.Fatalf("usage: embedder start | stop | pull DIGEST | busy | ready | poison WORD | none")
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch args[0] {
	case "start":
		ts.Check(s.start())
		ts.Setenv("EMBEDDER", "http://"+s.address)
		ts.Defer(func() { _ = s.server.Close() })
	case "stop":
		ts.Check(s.server.Close())
	case "pull":
		s.digest = args[1]
	case "busy":
		s.down = true
	case "ready":
		s.down = false
	case "poison":
		s.poison = args[1]
	case "counts":
		ts.Setenv("REQUESTS", fmt.Sprint(s.requests))
		if s.prefixed != s.texts {
			ts.Fatalf("%d of %d texts had the model's prefix", s.prefixed, s.texts)
		}
	case "key":
		if s.keys[args[1]] == 0 || len(s.keys) != 1 {
			ts.Fatalf("keys that came: %v", s.keys)
		}
	default:
		ts.Fatalf("embedder %s?", args[0])
	}
}

func (s *scriptEmbedding) start() error {
	if s.address == "" {
		s.address = "127.0.0.1:0"
		s.digest = strings.Repeat("a", 64)
		s.keys = map[string]int{}
	}
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	s.address = listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		fmt.Fprintf(w, `{"models":[{"name":"nomic-embed-text:latest","digest":%q}]}`, s.digest)
	})
	mux.HandleFunc("POST /api/embed", s.embed)
	mux.HandleFunc("POST /v1/embeddings", s.embed)
	s.server = &http.Server{Handler: mux}
	go func() { _ = s.server.Serve(listener) }()
	return nil
}

func (s *scriptEmbedding) embed(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var body struct {
		Model string
		Input []string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.requests++
	s.keys[r.Header.Get("Authorization")]++
	if s.down {
		w.Header().Set("Retry-After", "3600")
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	vectors, data := [][]float32{}, []any{}
	for i, text := range body.Input {
		s.texts++
		if strings.HasPrefix(text, "search_document: ") || strings.HasPrefix(text, "search_query: ") || text == "hello world" {
			s.prefixed++
		}
		if s.poison != "" && strings.Contains(text, s.poison) {
			http.Error(w, `{"error":"failed to encode response: json: unsupported value: NaN"}`, http.StatusInternalServerError)
			return
		}
		v := hashedWords(text)
		vectors = append(vectors, v)
		data = append(data, map[string]any{"index": i, "embedding": v})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"model": body.Model, "embeddings": vectors, "data": data})
}

// hashedWords is a vector of 768 dimensions.
func hashedWords(text string) []float32 {
	_, text, _ = strings.Cut(text, ": ")
	v := make([]float32, 768)
	for _, word := range strings.FieldsFunc(strings.ToLower(text+" all"), func(r rune) bool { return r < '0' || r > 'z' }) {
		h := fnv.New32a()
		h.Write([]byte(word))
		v[h.Sum32()%768]++
	}
	return v
}
