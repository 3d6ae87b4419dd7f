package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// embedding is the embedder that is configured.
type embedding struct {
	documents embed.Embedder
	queries   embed.QueryEmbedder
	expected  embed.Model                                // as far as it is known without asking
	identify  func(context.Context) (embed.Model, error) // may ask a server
	address   string                                     // where texts go, "" if they stay in the process
}

// openEmbedder opens what embed.provider names. No server is asked yet.
func (a *settings) openEmbedder() (*embedding, error) {
	switch provider := a.config.Embed.Provider; provider {
	case "builtin":
		return openBuiltin()
	case "ollama":
		return a.openOllama()
	case "openai":
		return a.openOpenAI()
	default:
		return nil, usageError("providers: builtin, ollama, openai", "unknown embedding provider %q (embed.provider)", provider)
	}
}

// openEmbedderOf opens the embedder of a model: PROVIDER/NAME, or NAME of the
// provider that is configured; "" is the configured one. What the configuration
// says of one provider's server and key is not meant for another.
func (a *invocation) openEmbedderOf(model string) (*embedding, error) {
	provider, name, found := strings.Cut(model, "/")
	if !slices.Contains([]string{"builtin", "ollama", "openai"}, provider) {
		provider, name, found = a.config.Embed.Provider, model, true
	}
	other := *a
	switch {
	case model == "":
		return a.openEmbedder()
	case provider == "builtin" && found && name != embed.BuiltinName:
		return nil, usageError("name a model of a server as ollama/MODEL or openai/MODEL", "the built-in model is builtin/%s, not %q", embed.BuiltinName, model)
	case provider != a.config.Embed.Provider:
		other.config.Embed = embedConfig{Provider: provider, Timeout: a.config.Embed.Timeout}
	}
	other.config.Embed.Model = name
	return other.openEmbedder()
}

func openBuiltin() (*embedding, error) {
	e, err := embed.NewBuiltin()
	if err != nil {
		return nil, err
	}
	identify := func(context.Context) (embed.Model, error) { return e.Model(), nil }
	return &embedding{documents: e, queries: e, expected: chunked(e.Model()), identify: identify}, nil
}

// builtin is the embedder if it is the built-in one, else nil.
func (e *embedding) builtin() *embed.Builtin {
	b, _ := e.documents.(*embed.Builtin)
	return b
}

func (a *settings) openOllama() (*embedding, error) {
	o, err := a.remoteOptions()
	if err != nil {
		return nil, err
	}
	o.BaseURL = cmp.Or(o.BaseURL, embed.OllamaURL(a.getenv("OLLAMA_HOST")))
	e, err := embed.NewOllama(o)
	if err != nil {
		return nil, usageError("docs/embedding.md has examples", "embed.base_url or OLLAMA_HOST: %w", err)
	}
	return &embedding{documents: e, queries: e, expected: chunked(e.Expected()), identify: e.Identify, address: e.Address()}, nil
}

func (a *settings) openOpenAI() (*embedding, error) {
	o, err := a.remoteOptions()
	if err != nil {
		return nil, err
	}
	e, err := embed.NewOpenAI(o)
	if err != nil {
		return nil, usageError("docs/embedding.md has examples", "embed.base_url: %w", err)
	}
	return &embedding{documents: e, queries: e, expected: chunked(e.Expected()), identify: e.Identify, address: e.Address()}, nil
}

func (a *settings) remoteOptions() (embed.RemoteOptions, error) {
	c := a.config.Embed
	if c.Dimensions < 0 || c.Timeout < 0 {
		return embed.RemoteOptions{}, usageError("", "embed.dimensions and embed.timeout must not be negative")
	}
	key, err := a.apiKey()
	return embed.RemoteOptions{BaseURL: c.BaseURL, Model: c.Model, Dim: c.Dimensions, Timeout: c.Timeout, APIKey: key}, err
}

// noteEmbedder says in a dry run where texts would be sent. A provider that
// cannot be used is an error.
func (a *invocation) noteEmbedder() error {
	e, err := a.openEmbedder()
	if err == nil && e.address != "" {
		a.notice(note{Message: fmt.Sprintf("texts would be sent to %s to be embedded", e.address)})
	}
	return err
}

// chunked is the identity of the vectors that are kept: the embedder's, and the
// way texts are cut.
func chunked(m embed.Model) embed.Model {
	m.Chunker = chunk.Version
	return m
}

// model returns the identity of the vectors. While the server cannot be asked,
// down says why, and the model is that of the vectors in memory, if they are
// of the one that is configured, else what the configuration says.
func (e *embedding) model(ctx context.Context, store *memory.Store) (m embed.Model, down, err error) {
	m, err = e.identify(ctx)
	if err == nil || !errors.Is(err, embed.ErrUnavailable) {
		return chunked(m), nil, err
	}
	down = err
	known, found, err := store.Known(ctx, e.expected)
	if !found {
		known = e.expected
	}
	return known, down, err
}

// askMemory is a recall with the embedder that is configured. If it cannot
// serve, words alone decide and the result's notice says so.
func (a *settings) askMemory(ctx context.Context, store *memory.Store, q memory.Query) (memory.Result, error) {
	e, err := a.openEmbedder()
	if err != nil {
		return memory.Result{}, err
	}
	if q.Rank == memory.RankText {
		return store.Recall(ctx, q, nil, e.expected)
	}
	model, down, err := e.model(ctx, store)
	if err != nil {
		return memory.Result{}, err
	}
	queries := e.queries
	if down != nil {
		queries = absent{down}
	}
	return store.Recall(ctx, q, queries, model)
}

// absent is an embedder that is not available.
type absent struct{ err error }

// EmbedQuery implements embed.QueryEmbedder.
func (a absent) EmbedQuery(context.Context, string) ([]float32, error) { return nil, a.err }

// watched remembers why an embedder could not serve.
type watched struct {
	embed.Embedder
	down error
}

// EmbedDocuments implements embed.Embedder.
func (w *watched) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := w.Embedder.EmbedDocuments(ctx, texts)
	if errors.Is(err, embed.ErrUnavailable) {
		w.down = err
	}
	return vectors, err
}

// embedder is a compact.Embedder over an embedding and a memory.Store.
type embedder struct {
	app       *invocation
	store     *memory.Store
	embedding *embedding
}

const pendingHint = "sessctl memory reindex --pending makes the vectors when the embedder is back; until then words find the records"

// EmbedPending implements compact.Embedder. What the embedder cannot serve
// stays pending, with a note: no other embedder takes its place. Vectors of two
// models are never mixed; memory reindex changes the model.
func (e embedder) EmbedPending(ctx context.Context, ref session.Ref, progress func(done, total int64)) (int, error) {
	m, down, err := e.embedding.model(ctx, e.store)
	if err != nil {
		return 0, err
	}
	if down != nil {
		e.app.notice(note{Message: down.Error(), Hint: pendingHint})
		return e.waiting(ctx, m, ref.Agent)
	}
	others, err := e.store.OtherModels(ctx, ref.Agent, m)
	if err != nil {
		return 0, err
	}
	if len(others) > 0 {
		e.app.notice(note{
			Message: fmt.Sprintf("the vectors of %s are of %s, and %s is configured: no vectors are made", ref.Agent, strings.Join(others, ", "), m),
			Hint:    "sessctl memory reindex rebuilds all vectors; or set embed.provider and embed.model back",
		})
		return e.waiting(ctx, m, ref.Agent)
	}
	w := &watched{Embedder: e.embedding.documents}
	pending, err := e.store.EmbedPending(ctx, w, m, ref.Agent, progress)
	if w.down != nil {
		e.app.notice(note{Message: w.down.Error(), Hint: pendingHint})
	}
	return pending, err
}

// waiting counts what has no vector of a model. Of a model that is not fully
// known nothing has.
func (e embedder) waiting(ctx context.Context, m embed.Model, agent string) (int, error) {
	if m.Revision == "" || m.Dim == 0 {
		return e.store.CountRecords(ctx, agent)
	}
	open, refused, err := e.store.CountPending(ctx, m, agent)
	return open + refused, err
}

// apiKey returns the key that goes to the embedding server: from a file, from
// the variable that is configured, or, for OpenAI's own servers only, from
// OPENAI_API_KEY. Another server never gets a key that was not meant for it.
func (a *settings) apiKey() (string, error) {
	c := a.config.Embed
	switch {
	case c.APIKeyFile != "":
		return readKey("embed.api_key_file", c.APIKeyFile)
	case c.APIKeyEnv != "":
		return strings.TrimSpace(a.getenv(c.APIKeyEnv)), nil
	case c.Provider == "openai" && isOpenAI(c.BaseURL):
		return strings.TrimSpace(a.getenv("OPENAI_API_KEY")), nil
	}
	return "", nil
}

func isOpenAI(base string) bool {
	if base == "" {
		return true
	}
	u, err := url.Parse(base)
	return err == nil && u.Scheme == "https" && u.Host == "api.openai.com"
}

// readKey reads a file of one line, which the configuration's key names.
func readKey(key, path string) (string, error) {
	secret, err := oneLineOf(path)
	if err != nil {
		return "", usageError("the file holds the key and nothing else", "%s %s: %w", key, path, err)
	}
	return secret, nil
}
