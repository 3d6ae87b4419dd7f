package embed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// embedAll embeds as the memory does.
func embedAll(t *testing.T, p provider, texts []string) []Result {
	t.Helper()
	var results []Result
	for r := range Batches(t.Context(), p, texts, BatchOptions{Dim: testDim}) {
		results = append(results, r)
	}
	return results
}

// sameDirection fails unless a result is the server's vector of a text, scaled
// to unit length.
func sameDirection(t interface{ Fatalf(string, ...any) }, r Result, text string) {
	if r.Err != nil {
		t.Fatalf("%q: %v", text, r.Err)
	}
	if diff := cmp.Diff(unit(vectorOf(text)), r.Vector, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Fatalf("%q (-want +got):\n%s", text, diff)
	}
}

func TestRemoteEmbeds(t *testing.T) {
	both(t, RemoteOptions{APIKey: "secret"}, func(t *testing.T, s *server, p provider) {
		texts := append(numbers(130), "naïve \x00 \"quoted\"\n<tag> 漢字")
		for i, r := range embedAll(t, p, texts) {
			sameDirection(t, r, texts[i])
		}
		query, err := p.EmbedQuery(t.Context(), "7")
		sameDirection(t, Result{Vector: query, Err: err}, "7")
		m, err := p.Identify(t.Context())
		if err != nil || m.Dim != testDim || m.Name != "test-model" || m.Revision == "" {
			t.Errorf("identity %v, %v", m, err)
		}
		for _, h := range s.heads {
			if h.Get("Authorization") != "Bearer secret" {
				t.Fatalf("headers %v", h)
			}
		}
		if _, err := p.EmbedQuery(t.Context(), " \n"); !errors.Is(err, ErrNoVector) {
			t.Errorf("a query of white space: %v", err)
		}
	})
}

func TestRequests(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		if _, err := p.EmbedDocuments(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"model": "test-model", "input": []any{"a"}, "dimensions": float64(testDim), "encoding_format": "float"}
		if _, isOllama := p.(*Ollama); isOllama {
			want = map[string]any{"model": "test-model", "input": []any{"a"}, "dimensions": float64(testDim),
				"truncate": false, "keep_alive": "10m", "options": map[string]any{"num_ctx": float64(8192)}}
		}
		if diff := cmp.Diff([]map[string]any{want}, s.bodies); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	})
}

// fault is one way in which a server is wrong about one text of a batch.
type fault struct {
	name   string
	before func(w http.ResponseWriter, r *http.Request, input []string) bool
	change func(input []string, vectors [][]any) [][]any
	want   error
}

// at applies a change to the vector of the text "bad".
func at(change func(v []any) []any) func([]string, [][]any) [][]any {
	return func(input []string, vectors [][]any) [][]any {
		if i := slices.Index(input, "bad"); i >= 0 {
			vectors[i] = change(vectors[i])
		}
		return vectors
	}
}

// ifBad answers a request that holds the text "bad".
func ifBad(answer http.HandlerFunc) func(http.ResponseWriter, *http.Request, []string) bool {
	return func(w http.ResponseWriter, r *http.Request, input []string) bool {
		if slices.Contains(input, "bad") {
			answer(w, r)
			return true
		}
		return false
	}
}

func status(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, message, code) }
}

// dropped breaks the connection in the middle of a reply.
func dropped(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"embeddings":[[0.1,`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// textFaults are due to one text (reliability.md A4 rows 20 and 21).
func textFaults() []fault {
	return []fault{
		{name: "500 unsupported value: NaN", before: ifBad(status(500, `{"error":"failed to encode response: json: unsupported value: NaN"}`))},
		{name: "400", before: ifBad(status(400, `{"error":"the input length exceeds the context length"}`))},
		{name: "413", before: ifBad(status(413, ""))},
		{name: "dropped", before: ifBad(dropped), want: io.ErrUnexpectedEOF},
		{name: "no JSON", before: ifBad(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }), want: errReply},
		{name: "nothing", before: ifBad(func(http.ResponseWriter, *http.Request) {}), want: errReply},
		{name: "too large", before: ifBad(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, maxOther+64*testDim*maxNumber+2))
		}), want: errReply},
		{name: "null vector", change: at(func([]any) []any { return nil }), want: errReply},
		{name: "null component", change: at(func(v []any) []any { v[1] = nil; return v }), want: errReply},
		{name: "string component", change: at(func(v []any) []any { v[1] = "NaN"; return v }), want: errReply},
		{name: "1e39", change: at(func(v []any) []any { v[1] = 1e39; return v }), want: ErrNotFinite},
		{name: "all zero", change: at(func([]any) []any { return []any{0, 0, 0, 0} }), want: ErrZero},
		{name: "too short", change: at(func(v []any) []any { return v[1:] }), want: ErrDimension},
		{name: "too long", change: at(func(v []any) []any { return append(v, 1) }), want: ErrDimension},
		{name: "empty", change: at(func([]any) []any { return []any{} }), want: ErrDimension},
		{name: "fewer vectors", change: func(input []string, vectors [][]any) [][]any {
			if slices.Contains(input, "bad") {
				return vectors[1:]
			}
			return vectors
		}, want: ErrCount},
		{name: "more vectors", change: func(input []string, vectors [][]any) [][]any {
			if slices.Contains(input, "bad") {
				return append(vectors, vectors[0])
			}
			return vectors
		}, want: ErrCount},
	}
}

// TestTextFaults: whatever is wrong with one text, the others get their
// vectors, it does not, and nothing that is wrong gets through.
func TestTextFaults(t *testing.T) {
	for _, f := range textFaults() {
		t.Run(f.name, func(t *testing.T) {
			both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
				s.before, s.change = f.before, f.change
				texts := append(numbers(70), "bad", "last")
				for i, r := range embedAll(t, p, texts) {
					if texts[i] != "bad" {
						sameDirection(t, r, texts[i])
						continue
					}
					if r.Err == nil || errors.Is(r.Err, ErrUnavailable) || f.want != nil && !errors.Is(r.Err, f.want) {
						t.Errorf("error %v, want %v", r.Err, f.want)
					}
				}
				if n := len(s.calls()); n > 60 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

// serverFaults are due to no text.
func serverFaults() []fault {
	always := func(answer http.HandlerFunc) func(http.ResponseWriter, *http.Request, []string) bool {
		return func(w http.ResponseWriter, r *http.Request, _ []string) bool { answer(w, r); return true }
	}
	every := func(change func(v []any) []any) func([]string, [][]any) [][]any {
		return func(_ []string, vectors [][]any) [][]any {
			for i := range vectors {
				vectors[i] = change(vectors[i])
			}
			return vectors
		}
	}
	return []fault{
		{name: "401", before: always(status(401, `{"error":{"message":"bad key secret"}}`))},
		{name: "404", before: always(status(404, `{"error":"model \"test-model\" not found, try pulling it first"}`))},
		{name: "429", before: always(status(429, "slow down"))},
		{name: "503", before: always(status(503, ""))},
		{name: "500", before: always(status(500, "out of memory"))},
		{name: "400", before: always(status(400, "no dimensions for this model"))},
		{name: "dropped", before: always(dropped)},
		{name: "no JSON", before: always(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })},
		{name: "wrong dimension", change: every(func(v []any) []any { return v[:2] })},
		{name: "all zero", change: every(func([]any) []any { return []any{0, 0, 0, 0} })},
		{name: "null", change: every(func([]any) []any { return nil })},
		{name: "redirect to another host", before: always(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusTemporaryRedirect)
		})},
		{name: "redirect to a file", before: always(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		})},
	}
}

// TestServerFaults: what is wrong for every text is ErrUnavailable after a
// bounded number of calls, so that all texts stay pending and none is blamed.
func TestServerFaults(t *testing.T) {
	for _, f := range serverFaults() {
		t.Run(f.name, func(t *testing.T) {
			both(t, RemoteOptions{Dim: testDim, APIKey: "secret"}, func(t *testing.T, s *server, p provider) {
				s.before, s.change = f.before, f.change
				for _, r := range embedAll(t, p, numbers(130)) {
					if !errors.Is(r.Err, ErrUnavailable) || strings.Contains(r.Err.Error(), "secret") {
						t.Fatalf("error %v", r.Err)
					}
				}
				if n := len(s.calls()); n > 8 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

func TestRefusedConnection(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		s.Close()
		if _, err := p.EmbedDocuments(t.Context(), []string{"a"}); !errors.Is(err, ErrUnavailable) {
			t.Errorf("documents: %v", err)
		}
		if _, err := p.EmbedQuery(t.Context(), "a"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("query: %v", err)
		}
	})
}

// TestDiesMidBatch: what was embedded before the server died is kept.
func TestDiesMidBatch(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		s.before = func(w http.ResponseWriter, r *http.Request, input []string) bool {
			if len(s.calls()) > 2 {
				status(503, "shutting down")(w, r)
				return true
			}
			return false
		}
		for i, r := range embedAll(t, p, numbers(150)) {
			if i < 128 {
				sameDirection(t, r, numbers(150)[i])
			} else if !errors.Is(r.Err, ErrUnavailable) {
				t.Fatalf("text %d: %v", i, r.Err)
			}
		}
	})
}

func TestModelChangedMidRun(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		if _, err := p.EmbedDocuments(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		s.mutex.Lock()
		s.digest, s.model = strings.Repeat("b", 64), "another"
		s.mutex.Unlock()
		if v, err := p.EmbedDocuments(t.Context(), []string{"a"}); !errors.Is(err, ErrUnavailable) || v != nil {
			t.Errorf("%v, %v", v, err)
		}
	})
	s := newServer(t)
	p := providers(t, s, RemoteOptions{Dim: testDim})["ollama"]
	s.before = func(http.ResponseWriter, *http.Request, []string) bool { // pulled again during the call
		s.mutex.Lock()
		s.digest = strings.Repeat("c", 64)
		s.mutex.Unlock()
		return false
	}
	if v, err := p.EmbedDocuments(t.Context(), []string{"a"}); !errors.Is(err, ErrUnavailable) || v != nil {
		t.Errorf("pulled again: %v, %v", v, err)
	}
}

func TestRetries(t *testing.T) {
	for _, test := range []struct {
		name, after string
		code        int
		times       int
		want        []time.Duration
		err         bool
	}{
		{"seconds", "7", 429, 2, []time.Duration{7 * time.Second, 7 * time.Second}, false},
		{"date", "Fri, 01 May 2026 12:00:09 GMT", 503, 1, []time.Duration{9 * time.Second}, false},
		{"date gone by", "Fri, 01 May 2026 11:00:00 GMT", 503, 1, []time.Duration{firstWait}, false},
		{"none", "", 503, 3, []time.Duration{firstWait, 2 * firstWait, 4 * firstWait}, false},
		{"nonsense", "soon", 429, 1, []time.Duration{firstWait}, false},
		{"negative", "-5", 429, 1, []time.Duration{firstWait}, false},
		{"too long", "3600", 429, 1, nil, true},
		{"too often", "1", 429, 4, []time.Duration{time.Second, time.Second, time.Second}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := &testClock{}
			s := newServer(t)
			left := test.times
			s.before = func(w http.ResponseWriter, r *http.Request, _ []string) bool {
				if left == 0 {
					return false
				}
				left--
				if test.after != "" {
					w.Header().Set("Retry-After", test.after)
				}
				status(test.code, "")(w, r)
				return true
			}
			p := providers(t, s, RemoteOptions{Dim: testDim, Clock: clock.clock()})["openai"]
			_, err := p.EmbedDocuments(t.Context(), []string{"a"})
			if test.err != errors.Is(err, ErrUnavailable) || !test.err && err != nil {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(test.want, clock.slept); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHangs: a batch that takes too long is halved; a server that takes too
// long for one text is unavailable. The deadlines are short for a server that
// hangs, and long for one that answers.
func TestHangs(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim, Timeout: time.Second}, func(t *testing.T, s *server, p provider) {
		t.Parallel()
		done := make(chan struct{})
		t.Cleanup(func() { close(done) })
		limit := 3
		s.before = func(_ http.ResponseWriter, r *http.Request, input []string) bool {
			if len(input) < limit {
				return false
			}
			select {
			case <-r.Context().Done():
			case <-done:
			}
			return true
		}
		for i, r := range embedAll(t, p, numbers(4)) {
			sameDirection(t, r, numbers(4)[i])
		}
		limit = 1
		before := len(s.calls())
		for _, r := range embedAll(t, p, numbers(4)) {
			if !errors.Is(r.Err, ErrUnavailable) {
				t.Errorf("error %v", r.Err)
			}
		}
		if n := len(s.calls()) - before; n != 2 {
			t.Errorf("%d calls, want the batch and one short text", n)
		}
	})
}

func TestDeadline(t *testing.T) {
	c := &client{timeout: 30 * time.Second}
	for texts, want := range map[int]time.Duration{0: 10 * time.Second, 1: 37500 * time.Millisecond, 64: 510 * time.Second} {
		if got := c.deadline(call{texts: texts}); got != want {
			t.Errorf("%d texts: %v, want %v", texts, got, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		ctx, cancel := context.WithCancel(t.Context())
		s.before = func(_ http.ResponseWriter, r *http.Request, _ []string) bool {
			cancel()
			<-r.Context().Done() // the caller has gone
			return true
		}
		if _, err := p.EmbedDocuments(ctx, []string{"a"}); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
			t.Errorf("error %v", err)
		}
	})
}

// TestHalving: any set of texts that the server fails on; all others are
// embedded, each vector handed out once, in order.
func TestHalving(t *testing.T) {
	s := newServer(t)
	for name, p := range providers(t, s, RemoteOptions{Dim: testDim}) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(1, 100).Draw(t, "texts")
				bad := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, min(n, 12), rapid.ID).Draw(t, "bad")
				texts := numbers(n)
				isBad := func(text string) bool { return slices.ContainsFunc(bad, func(i int) bool { return texts[i] == text }) }
				embedded := map[string]int{}
				s.before = func(w http.ResponseWriter, r *http.Request, input []string) bool {
					if slices.ContainsFunc(input, isBad) {
						status(500, "unsupported value: NaN")(w, r)
						return true
					}
					for _, text := range input {
						embedded[text]++
					}
					return false
				}
				i := 0
				for r := range Batches(context.Background(), p, texts, BatchOptions{Dim: testDim, Size: rapid.IntRange(1, 70).Draw(t, "size")}) {
					if r.Index != i {
						t.Fatalf("result %d is of text %d", i, r.Index)
					}
					if slices.Contains(bad, i) {
						if r.Err == nil || errors.Is(r.Err, ErrUnavailable) {
							t.Fatalf("bad text %d: %v", i, r.Err)
						}
					} else {
						sameDirection(t, r, texts[i])
						if embedded[texts[i]] != 1 {
							t.Fatalf("text %d was embedded %d times", i, embedded[texts[i]])
						}
					}
					i++
				}
				if i != n {
					t.Fatalf("%d results of %d", i, n)
				}
			})
		})
	}
}

// TestTooLong: a text that is too long is embedded in parts; the vector is the
// direction of their mean, weighted by length.
func TestTooLong(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		const longest = 700
		accepted := map[string][]string{}
		s.before = func(w http.ResponseWriter, r *http.Request, input []string) bool {
			for _, text := range input {
				if len(text) > longest {
					status(400, "the input length exceeds the context length")(w, r)
					return true
				}
				accepted["all"] = append(accepted["all"], text)
			}
			return false
		}
		text := strings.Repeat("word wörd 漢字 ", 200)
		results := embedAll(t, p, []string{"before", text, "after"})
		sameDirection(t, results[0], "before")
		sameDirection(t, results[2], "after")
		if results[1].Err != nil {
			t.Fatal(results[1].Err)
		}
		want, joined := make([]float32, testDim), ""
		for _, part := range accepted["all"] {
			if part == "before" || part == "after" || part == probeText {
				continue
			}
			joined += part
			for i, x := range unit(vectorOf(part)) {
				want[i] += x * float32(len(part))
			}
		}
		if joined != text {
			t.Errorf("the parts are not the text")
		}
		if diff := cmp.Diff(unit(want), results[1].Vector, cmpopts.EquateApprox(0, 1e-5)); diff != "" {
			t.Errorf("mean of the parts (-want +got):\n%s", diff)
		}
		query, err := p.EmbedQuery(t.Context(), text)
		if err != nil || len(query) != testDim {
			t.Errorf("a long query: %v", err)
		}
	})
}

func TestCutNearMiddle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(2, -1, -1).Draw(t, "text")
		if len(text) < 2*4 {
			return
		}
		at := cutNearMiddle(text)
		if at <= 0 || at >= len(text) || text[at]&0xC0 == 0x80 {
			t.Fatalf("%q is cut at %d", text, at)
		}
	})
	if at := cutNearMiddle(strings.Repeat("\x80", 10)); at != 5 {
		t.Errorf("continuation bytes only: cut at %d", at)
	}
}

func TestLikelyTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, " \n\t": 0, "the boat": 2, "internationalisation": 4, "1,2;3": 5, "配送は": 3, "a-b": 3, "x1y": 3, "naïve": 3,
	} {
		if got := likelyTokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if english, digits := likelyTokens(strings.Repeat("some words of English ", 100)), likelyTokens(strings.Repeat("0123456789 ", 200)); english*3 > digits {
		t.Errorf("English %d, digits %d", english, digits)
	}
}

// TestTooLongGoesAlone: once a text was too long, those like it do not make the
// server refuse the others of their batch; a text that was only suspected is
// embedded whole.
func TestTooLongGoesAlone(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		refused := 0
		s.before = func(w http.ResponseWriter, r *http.Request, input []string) bool {
			for _, text := range input {
				if strings.Count(text, "8") > 300 {
					refused++
					status(400, "the input length exceeds the context length")(w, r)
					return true
				}
			}
			return false
		}
		long := strings.Repeat("8 ", 400)
		suspect := strings.Repeat("7 ", 450)
		first := append(numbers(31), long)
		for i, r := range embedAll(t, p, append(first, numbers(32)...)) {
			if r.Err != nil {
				t.Fatalf("text %d: %v", i, r.Err)
			}
		}
		learning := refused
		refused = 0
		second := append(numbers(31), long, suspect)
		for i, r := range embedAll(t, p, append(second, numbers(31)...)) {
			if r.Err != nil {
				t.Fatalf("text %d: %v", i, r.Err)
			}
			if i != 31 {
				sameDirection(t, r, append(second, numbers(31)...)[i])
			}
		}
		if learning < 3 || refused != 1 {
			t.Errorf("%d calls were refused first, and %d then; want several, and the long text alone", learning, refused)
		}
	})
}

// A text that is wrong for another reason is blamed by its place in the batch,
// wherever the suspects stand.
func TestBlameBesideSuspects(t *testing.T) {
	both(t, RemoteOptions{Dim: testDim}, func(t *testing.T, s *server, p provider) {
		s.change = at(func([]any) []any { return []any{0, 0, 0, 0} })
		s.before = func(w http.ResponseWriter, r *http.Request, input []string) bool {
			for _, text := range input {
				if len(text) > 700 {
					status(400, "too long")(w, r)
					return true
				}
			}
			return false
		}
		long := strings.Repeat("8 ", 400)
		for range 2 {
			texts := append(numbers(20), long, "bad", long)
			for i, r := range embedAll(t, p, append(texts, numbers(20)...)) {
				if (r.Err != nil) != (i == 21) {
					t.Fatalf("text %d: %v", i, r.Err)
				}
			}
		}
	})
}
