package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// Embedding is the embedder that is configured.
type Embedding struct {
	Documents embed.Embedder
	Queries   embed.QueryEmbedder
	Expected  embed.Model                                // as far as it is known without asking
	Identify  func(context.Context) (embed.Model, error) // may ask a server
	Address   string                                     // where texts go, "" if they stay in the process
}

// OpenEmbedder opens what embed.provider names. No server is asked yet.
func OpenEmbedder(a *Settings) (*Embedding, error) {
	switch provider := a.Config.Embed.Provider; provider {
	case "builtin":
		return openBuiltin()
	case "ollama":
		return openOllama(a)
	case "openai":
		return openOpenAI(a)
	default:
		return nil, failure.Usage("providers: builtin, ollama, openai", "unknown embedding provider %q (embed.provider)", provider)
	}
}

// OpenEmbedderOf opens the embedder of a model: PROVIDER/NAME, or NAME of the
// provider that is configured; "" is the configured one. What the configuration
// says of one provider's server and key is not meant for another.
func OpenEmbedderOf(run *Run, model string) (*Embedding, error) {
	provider, name, found := strings.Cut(model, "/")
	if !slices.Contains([]string{"builtin", "ollama", "openai"}, provider) {
		provider, name, found = run.Config.Embed.Provider, model, true
	}
	other := *run
	switch {
	case model == "":
		return OpenEmbedder(&run.Settings)
	case provider == "builtin" && found && name != embed.BuiltinName:
		return nil, failure.Usage("name a model of a server as ollama/MODEL or openai/MODEL", "the built-in model is builtin/%s, not %q", embed.BuiltinName, model)
	case provider != run.Config.Embed.Provider:
		other.Config.Embed = embedConfig{Provider: provider, Timeout: run.Config.Embed.Timeout}
	}
	other.Config.Embed.Model = name
	return OpenEmbedder(&other.Settings)
}

func openBuiltin() (*Embedding, error) {
	e, err := embed.NewBuiltin()
	if err != nil {
		return nil, err
	}
	identify := func(context.Context) (embed.Model, error) { return e.Model(), nil }
	return &Embedding{Documents: e, Queries: e, Expected: Chunked(e.Model()), Identify: identify}, nil
}

// builtin is the embedder if it is the built-in one, else nil.
func (e *Embedding) builtin() *embed.Builtin {
	b, _ := e.Documents.(*embed.Builtin)
	return b
}

func openOllama(a *Settings) (*Embedding, error) {
	o, err := remoteOptions(a)
	if err != nil {
		return nil, err
	}
	o.BaseURL = cmp.Or(o.BaseURL, embed.OllamaURL(a.Getenv("OLLAMA_HOST")))
	e, err := embed.NewOllama(o)
	if err != nil {
		return nil, failure.Usage("docs/embedding.md has examples", "embed.base_url or OLLAMA_HOST: %w", err)
	}
	return &Embedding{Documents: e, Queries: e, Expected: Chunked(e.Expected()), Identify: e.Identify, Address: e.Address()}, nil
}

func openOpenAI(a *Settings) (*Embedding, error) {
	o, err := remoteOptions(a)
	if err != nil {
		return nil, err
	}
	e, err := embed.NewOpenAI(o)
	if err != nil {
		return nil, failure.Usage("docs/embedding.md has examples", "embed.base_url: %w", err)
	}
	return &Embedding{Documents: e, Queries: e, Expected: Chunked(e.Expected()), Identify: e.Identify, Address: e.Address()}, nil
}

func remoteOptions(a *Settings) (embed.RemoteOptions, error) {
	c := a.Config.Embed
	if c.Dimensions < 0 || c.Timeout < 0 {
		return embed.RemoteOptions{}, failure.Usage("", "embed.dimensions and embed.timeout must not be negative")
	}
	key, err := a.apiKey()
	return embed.RemoteOptions{BaseURL: c.BaseURL, Model: c.Model, Dim: c.Dimensions, Timeout: c.Timeout, APIKey: key}, err
}

// NoteEmbedder says in a dry run where texts would be sent. A provider that
// cannot be used is an error.
func NoteEmbedder(run *Run) error {
	e, err := OpenEmbedder(&run.Settings)
	if err == nil && e.Address != "" {
		run.Notice(Note{Message: fmt.Sprintf("texts would be sent to %s to be embedded", e.Address)})
	}
	return err
}

// Chunked is the identity of the vectors that are kept: the embedder's, and the
// way texts are cut.
func Chunked(m embed.Model) embed.Model {
	m.Chunker = chunk.Version
	return m
}

// Model returns the identity of the vectors. While the server cannot be asked,
// down says why, and the model is that of the vectors in memory, if they are
// of the one that is configured, else what the configuration says.
func (e *Embedding) Model(ctx context.Context, store *memory.Store) (m embed.Model, down, err error) {
	m, err = e.Identify(ctx)
	if err == nil || !errors.Is(err, embed.ErrUnavailable) {
		return Chunked(m), nil, err
	}
	down = err
	known, found, err := store.Known(ctx, e.Expected)
	if !found {
		known = e.Expected
	}
	return known, down, err
}

// AskMemory is a recall with the embedder that is configured. If it cannot
// serve, words alone decide and the result's notice says so.
func AskMemory(ctx context.Context, a *Settings, store *memory.Store, q memory.Query) (memory.Result, error) {
	e, err := OpenEmbedder(a)
	if err != nil {
		return memory.Result{}, err
	}
	if q.Rank == memory.RankText {
		return store.Recall(ctx, q, nil, e.Expected)
	}
	model, down, err := e.Model(ctx, store)
	if err != nil {
		return memory.Result{}, err
	}
	queries := e.Queries
	if down != nil {
		queries = Absent{down}
	}
	return store.Recall(ctx, q, queries, model)
}

// Absent is an embedder that is not available.
type Absent struct{ Err error }

// EmbedQuery implements embed.QueryEmbedder.
func (a Absent) EmbedQuery(context.Context, string) ([]float32, error) { return nil, a.Err }

// Watched remembers why an embedder could not serve.
type Watched struct {
	embed.Embedder
	Down error
}

// EmbedDocuments implements embed.Embedder.
func (w *Watched) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := w.Embedder.EmbedDocuments(ctx, texts)
	if errors.Is(err, embed.ErrUnavailable) {
		w.Down = err
	}
	return vectors, err
}

// Embedder is a compact.Embedder over an embedding and a memory.Store.
type Embedder struct {
	app       *Run
	Store     *memory.Store
	embedding *Embedding
}

const pendingHint = "sessctl doctor says whether the embedder serves; sessctl memory reindex --pending makes the vectors then; until then words find the records"

// EmbedPending implements compact.Embedder. What the embedder cannot serve
// stays pending, with a note: no other embedder takes its place. Vectors of two
// models are never mixed; memory reindex changes the model.
func (e Embedder) EmbedPending(ctx context.Context, ref session.Ref, progress func(done, total int64)) (int, error) {
	if e.Store == nil {
		return 0, nil // that there is no memory was told
	}
	m, down, err := e.embedding.Model(ctx, e.Store)
	if err != nil {
		return 0, err
	}
	if down != nil {
		e.app.Notice(Note{Message: down.Error(), Hint: pendingHint})
		return e.Waiting(ctx, m, ref.Agent)
	}
	others, err := e.Store.OtherModels(ctx, ref.Agent, m)
	if err != nil {
		return 0, err
	}
	if len(others) > 0 {
		e.app.Notice(Note{
			Message: fmt.Sprintf("the vectors of %s are of %s, and %s is configured: no vectors are made", ref.Agent, strings.Join(others, ", "), m),
			Hint:    "sessctl memory reindex rebuilds all vectors; or set embed.provider and embed.model back",
		})
		return e.Waiting(ctx, m, ref.Agent)
	}
	w := &Watched{Embedder: e.embedding.Documents}
	pending, err := e.Store.EmbedPending(ctx, w, m, ref.Agent, progress)
	if w.Down != nil {
		e.app.Notice(Note{Message: w.Down.Error(), Hint: pendingHint})
	}
	return pending, err
}

// Waiting counts what has no vector of a model. Of a model that is not fully
// known nothing has.
func (e Embedder) Waiting(ctx context.Context, m embed.Model, agent string) (int, error) {
	if m.Revision == "" || m.Dim == 0 {
		return e.Store.CountRecords(ctx, agent)
	}
	open, refused, err := e.Store.CountPending(ctx, m, agent)
	return open + refused, err
}

// apiKey returns the key that goes to the embedding server: from a file, from
// the variable that is configured, or, for OpenAI's own servers only, from
// OPENAI_API_KEY. Another server never gets a key that was not meant for it.
func (s *Settings) apiKey() (string, error) {
	c := s.Config.Embed
	switch {
	case c.APIKeyFile != "":
		return readKey("embed.api_key_file", c.APIKeyFile)
	case c.APIKeyEnv != "":
		return strings.TrimSpace(s.Getenv(c.APIKeyEnv)), nil
	case c.Provider == "openai" && IsOpenAI(c.BaseURL):
		return strings.TrimSpace(s.Getenv("OPENAI_API_KEY")), nil
	}
	return "", nil
}

// IsOpenAI reports whether an address is that of OpenAI.
func IsOpenAI(base string) bool {
	if base == "" {
		return true
	}
	u, err := url.Parse(base)
	return err == nil && u.Scheme == "https" && u.Host == "api.openai.com"
}

// readKey reads a file of one line, which the configuration's key names.
func readKey(key, path string) (string, error) {
	secret, err := wording.OneLineOf(path)
	if err != nil {
		return "", failure.Usage("the file holds the key and nothing else", "%s %s: %w", key, path, err)
	}
	return secret, nil
}
