package e2e_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// ollamaServer is a real server. The models that a test makes on it go when the
// test ends; those that are there are left alone.
type ollamaServer struct{ base string }

// call sends a document, or with a nil one nothing, and returns the reply.
func (s ollamaServer) call(t *testing.T, method, path string, document any) []byte {
	t.Helper()
	body, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return s.send(t, method, path, bytes.NewReader(body))
}

func (s ollamaServer) send(t *testing.T, method, path string, body io.Reader) []byte {
	t.Helper()
	request, err := http.NewRequest(method, s.base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v\n%s", method, path, response.Status, err, reply)
	}
	return reply
}

// create makes a model of a file, as ollama create does, and returns the first
// digits of its digest.
func (s ollamaServer) create(t *testing.T, name, path string) (digest string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blob := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	s.send(t, http.MethodPost, "/api/blobs/"+blob, bytes.NewReader(data))
	s.call(t, http.MethodPost, "/api/create", map[string]any{"model": name, "files": map[string]string{"model.gguf": blob}, "stream": false})
	var list struct {
		Models []struct{ Name, Digest string }
	}
	if err := json.Unmarshal(s.send(t, http.MethodGet, "/api/tags", nil), &list); err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Models {
		if strings.TrimSuffix(m.Name, ":latest") == name {
			return m.Digest[:12]
		}
	}
	t.Fatalf("the server does not list %s: %v", name, list)
	return ""
}

func (s ollamaServer) remove(t *testing.T, name string) {
	s.call(t, http.MethodDelete, "/api/delete", map[string]string{"model": name})
}

// testModel writes the GGUF file of a small model.
func testModel(t *testing.T, seed int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprintf("model%d.gguf", seed))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "run", "./pkg/embed/testmodel", "-words", "30000", "-seed", fmt.Sprint(seed), "pkg/embed/glove40k.bin")
	c.Dir = module
	var complaint bytes.Buffer
	c.Stdout, c.Stderr = f, &complaint
	if err := c.Run(); err != nil {
		t.Fatalf("make a model: %v\n%s", err, complaint.Bytes())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// embedCall is a call for vectors, as the server got it.
type embedCall struct {
	Model    string
	Input    []string
	Truncate *bool
	Options  struct {
		Context int `json:"num_ctx"`
	}
	KeepAlive string `json:"keep_alive"`
}

// ollamaProxy stands between sessctl and the server, so that the server can be
// out of reach for one and stay up, and so that calls are seen.
type ollamaProxy struct {
	target  *url.URL
	address string
	server  *http.Server

	mutex   sync.Mutex
	calls   []embedCall
	refused int // calls that the server answered with 400
	// before is told of the nth call for vectors, from 1, before it goes on; or
	// nil.
	before func(n int)
}

func newOllamaProxy(t *testing.T, base string) *ollamaProxy {
	t.Helper()
	target, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	p := &ollamaProxy{target: target, address: "127.0.0.1:0"}
	p.start(t)
	t.Cleanup(func() { _ = p.server.Close() })
	return p
}

// start takes the port that it had before.
func (p *ollamaProxy) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	p.server = &http.Server{Handler: p}
	go func(s *http.Server) { _ = s.Serve(listener) }(p.server)
}

func (p *ollamaProxy) stop(t *testing.T) {
	t.Helper()
	if err := p.server.Close(); err != nil {
		t.Fatal(err)
	}
}

// ServeHTTP implements http.Handler.
func (p *ollamaProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	proxy := httputil.NewSingleHostReverseProxy(p.target)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a sessctl that is killed leaves its call
	if r.URL.Path == "/api/embed" {
		body, err := io.ReadAll(r.Body)
		var call embedCall
		if err != nil || json.Unmarshal(body, &call) != nil {
			http.Error(w, "not understood", http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.mutex.Lock()
		p.calls = append(p.calls, call)
		n, before := len(p.calls), p.before
		p.mutex.Unlock()
		if before != nil {
			before(n)
		}
		proxy.ModifyResponse = func(response *http.Response) error {
			p.mutex.Lock()
			defer p.mutex.Unlock()
			if response.StatusCode == http.StatusBadRequest {
				p.refused++
			}
			return nil
		}
	}
	proxy.ServeHTTP(w, r)
}

// forget begins to count anew.
func (p *ollamaProxy) forget(before func(n int)) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.calls, p.refused, p.before = nil, 0, before
}

// seen returns the calls since forget, and how many texts they had together.
func (p *ollamaProxy) seen() (calls []embedCall, texts int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, c := range p.calls {
		texts += len(c.Input)
	}
	return p.calls, texts
}
