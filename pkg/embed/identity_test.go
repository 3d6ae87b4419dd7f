package embed

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestRecognise: an identity is recognised by a model that does not know its
// revision, or revision and dimension, and by no other.
func TestRecognise(t *testing.T) {
	field := rapid.OneOf(rapid.StringN(0, 12, 40), rapid.SampledFrom([]string{"", "-", "a@b", "a;dim=3", "%40", "x/y", "nomic-embed-text:v1.5"}))
	model := rapid.Custom(func(t *rapid.T) Model {
		return Model{
			Provider: field.Draw(t, "provider"), Name: field.Draw(t, "name"), Revision: field.Draw(t, "revision"),
			Dim: rapid.IntRange(1, 4096).Draw(t, "dim"), Prefix: field.Draw(t, "prefix"), Chunker: field.Draw(t, "chunker"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		m := model.Draw(t, "model")
		asked := m
		asked.Revision = field.Draw(t, "other revision")
		if rapid.Bool().Draw(t, "dimension unknown") {
			asked.Dim = 0
		}
		if got, ok := asked.Recognise(m.String()); !ok || got != m {
			t.Fatalf("%+v recognises %s as %+v, %v", asked, m, got, ok)
		}
		other := model.Draw(t, "other")
		got, ok := other.Recognise(m.String())
		other.Revision = m.Revision
		if ok != (other == m) || ok && got != m {
			t.Fatalf("%+v recognises %s: %v", other, m, ok)
		}
	})
	for _, s := range []string{"", "@", "a/b@c", "a/b@c;dim=x;norm=l2;qp=-;chunk=-", "a/b@c;dim=3"} {
		if _, ok := (Model{Provider: "a", Name: "b"}).Recognise(s); ok {
			t.Errorf("%q is recognised", s)
		}
	}
}

func TestOllamaURL(t *testing.T) {
	for host, want := range map[string]string{
		"":                         "http://127.0.0.1:11434",
		"example.org":              "http://example.org:11434",
		"example.org:1234":         "http://example.org:1234",
		":1234":                    "http://127.0.0.1:1234",
		"0.0.0.0":                  "http://127.0.0.1:11434",
		"0.0.0.0:1234":             "http://127.0.0.1:1234",
		"[::]:1234":                "http://127.0.0.1:1234",
		"[::1]":                    "http://[::1]:11434",
		"http://example.org":       "http://example.org:80",
		"https://example.org":      "https://example.org:443",
		"https://example.org/o/":   "https://example.org:443/o",
		" http://127.0.0.1:11434 ": "http://127.0.0.1:11434",
	} {
		if got := OllamaURL(host); got != want {
			t.Errorf("%q: %s, want %s", host, got, want)
		}
	}
}

func TestBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"http://localhost:1234":     "",
		"https://example.org/llm/":  "",
		"file:///etc/passwd":        `scheme "file"`,
		"ftp://example.org":         `scheme "ftp"`,
		"example.org":               `scheme ""`,
		"http://":                   "no host",
		"http://me:hush@host":       "has a user",
		"http://host?key=hush":      "a query",
		"http://host#hush":          "a fragment",
		"http://me:hush@host:x\x7f": "cannot be read",
	} {
		_, err := NewOpenAI(RemoteOptions{BaseURL: base})
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", base, err, want)
		case err != nil && strings.Contains(err.Error(), "hush"):
			t.Errorf("%q: the error tells the key: %v", base, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	s := newServer(t)
	for _, test := range []struct{ base, want string }{
		{"http://LOCALHOST:1/v1", "openai/m@LOCALHOST:1;dim=3;norm=l2;qp=-;chunk=-"},
		{"https://example.org/llm/v1/", "openai/m@example.org/llm;dim=3;norm=l2;qp=-;chunk=-"},
	} {
		p, err := NewOpenAI(RemoteOptions{BaseURL: test.base, Model: "m", Dim: 3})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := p.Identify(t.Context()); err != nil || m.String() != test.want || m != p.Expected() {
			t.Errorf("%v, %v, want %s", m, err, test.want)
		}
	}
	o, err := NewOllama(RemoteOptions{BaseURL: s.URL, Model: "test-model:latest"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := o.Identify(t.Context()); err != nil || m.String() != "ollama/test-model@0a109f422b47;dim=4;norm=l2;qp=-;chunk=-" {
		t.Errorf("%v, %v", m, err)
	}
	o, err = NewOllama(RemoteOptions{BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Identify(t.Context()); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "ollama pull nomic-embed-text") {
		t.Errorf("a model that is not there: %v", err)
	}
	if m := o.Expected(); m.Dim != 768 || m.Prefix == "" {
		t.Errorf("expected %+v", m)
	}
}

// TestPrefixes: what goes to the server has the prefix of its task, and the
// prefixes are part of the identity.
func TestPrefixes(t *testing.T) {
	s := newServer(t)
	p, err := NewOpenAI(RemoteOptions{BaseURL: s.URL, Model: "text-embedding-nomic-embed-text-v1.5", Dim: testDim})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.EmbedDocuments(t.Context(), []string{"a", "b"})
	_, queryErr := p.EmbedQuery(t.Context(), "c")
	if got := strings.Join(append(s.calls()[0], s.calls()[1]...), "|"); err != nil || queryErr != nil || got != "search_document: a|search_document: b|search_query: c" {
		t.Errorf("%s, %v, %v", got, err, queryErr)
	}
}

// TestOrder: OpenAI's vectors without a proper index are refused.
func TestOrder(t *testing.T) {
	for name, index := range map[string]func(i int) any{
		"same": func(int) any { return 0 }, "from one": func(i int) any { return i + 1 }, "negative": func(i int) any { return -i },
		"null": func(int) any { return nil }, "text": func(int) any { return "0" }, "fraction": func(i int) any { return float64(i) + 0.5 },
	} {
		s := newServer(t)
		s.before = func(_ http.ResponseWriter, _ *http.Request, input []string) bool {
			s.index = func(i int) any { return i }
			if len(input) > 1 {
				s.index = index
			}
			return false
		}
		p := providers(t, s, RemoteOptions{Dim: testDim})["openai"]
		if v, err := p.EmbedDocuments(t.Context(), []string{"a", "b"}); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}
