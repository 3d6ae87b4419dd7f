package summarize

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// The providers that can be asked for a summary or for facts.
const (
	ProviderExtractive = "extractive" // no model: [Extractive]
	ProviderOllama     = "ollama"     // POST /api/chat
	ProviderOpenAI     = "openai"     // POST /chat/completions, and whatever is compatible
	ProviderAnthropic  = "anthropic"  // POST /v1/messages
	ProviderHermes     = "hermes"     // POST /api/v1/agent/ask: the agent itself (seed 002)
)

// Providers returns all providers, the default first.
func Providers() []string {
	return []string{ProviderExtractive, ProviderOllama, ProviderOpenAI, ProviderAnthropic, ProviderHermes}
}

// Defaults of an [Endpoint] (seed 000, Session Compaction: 30 seconds; the
// agent behind Hermes has 120 of its own, research/behaviours.md section 1b).
const (
	DefaultTimeout       = 30 * time.Second
	DefaultHermesTimeout = 180 * time.Second
	DefaultWindow        = 32_000 // tokens
	DefaultMaxCalls      = 50     // of one run
)

// Endpoint is where a model answers.
type Endpoint struct {
	Provider string
	Model    string
	BaseURL  string        // "" = the provider's own
	Key      string        // of the API; "" = none
	Timeout  time.Duration // of one call; 0 = the default
	Window   int           // tokens that the model reads at most; 0 = DefaultWindow
	Agent    string        // that Hermes is to ask
	Meter    *Meter        // of the run; nil = one of its own
	// Wait is called between tries; nil waits on the clock.
	Wait func(ctx context.Context, d time.Duration) error
}

// Prompt is one question.
type Prompt struct {
	System    string
	User      string
	MaxTokens int  // of the answer
	JSON      bool // the answer is to be one JSON object
}

// Answer is what the model said.
type Answer struct {
	Text   string
	Tokens int64 // in and out, as the provider counts them; 0 if it does not say
	// Cut is why the answer is not whole: the model had to stop, or it refused.
	// "" if it is whole.
	Cut string
}

// ErrCalls is returned when a run has made as many calls as it may.
var ErrCalls = errors.New("no more calls to the model are allowed in this run (--max-llm-calls)")

// Meter counts the calls of a run, and stops them. It may be shared.
type Meter struct {
	mu     sync.Mutex
	max    int
	calls  int
	tokens int64
}

// NewMeter returns a meter that lets so many calls through; 0 means
// [DefaultMaxCalls], and less than 0 none.
func NewMeter(most int) *Meter {
	if most == 0 {
		most = DefaultMaxCalls
	}
	return &Meter{max: most}
}

// Spent returns the calls and tokens so far.
func (m *Meter) Spent() (calls int, tokens int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls, m.tokens
}

// Left returns how many calls may still be made.
func (m *Meter) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, m.max-m.calls)
}

func (m *Meter) take() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls >= m.max {
		return ErrCalls
	}
	m.calls++
	return nil
}

func (m *Meter) add(tokens int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens += tokens
}

// protocol is how one provider is spoken to.
type protocol interface {
	// request returns the path below the base URL, the headers and the body.
	request(e *Endpoint, p Prompt) (path string, header http.Header, body any)
	// answer reads a reply with status 200.
	answer(e *Endpoint, reply []byte) (Answer, error)
}

// Client asks one model. It may be used by several goroutines.
type Client struct {
	endpoint Endpoint
	base     *url.URL
	protocol protocol
	http     *http.Client
}

// NewClient checks the endpoint and returns a client for it. Nothing is asked
// yet. The error of a provider, model or address that cannot be is for people.
func NewClient(e Endpoint) (*Client, error) {
	p, base := protocolOf(e.Provider)
	if p == nil {
		return nil, fmt.Errorf("unknown provider %q; there are %s", e.Provider, strings.Join(Providers(), ", "))
	}
	if e.BaseURL == "" {
		e.BaseURL = base
	}
	address, err := url.Parse(e.BaseURL)
	if err != nil || !slices.Contains([]string{"http", "https"}, address.Scheme) || address.Host == "" {
		return nil, fmt.Errorf("the base URL of %s must be http:// or https:// and a host, not %q", e.Provider, redact(e.BaseURL))
	}
	if e.Model == "" && e.Provider != ProviderHermes {
		return nil, fmt.Errorf("the provider %s needs the name of a model", e.Provider)
	}
	return &Client{endpoint: e.complete(), base: address, protocol: p, http: &http.Client{CheckRedirect: sameHost}}, nil
}

func (e Endpoint) complete() Endpoint {
	if e.Timeout <= 0 {
		e.Timeout = DefaultTimeout
		if e.Provider == ProviderHermes {
			e.Timeout = DefaultHermesTimeout
		}
	}
	if e.Window <= 0 {
		e.Window = DefaultWindow
	}
	if e.Meter == nil {
		e.Meter = NewMeter(0)
	}
	if e.Wait == nil {
		e.Wait = wait
	}
	return e
}

// Name is the provider and model, as receipts name them.
func (c *Client) Name() string {
	if c.endpoint.Model == "" {
		return c.endpoint.Provider
	}
	return c.endpoint.Provider + "/" + c.endpoint.Model
}

// Meter counts this client's calls.
func (c *Client) Meter() *Meter { return c.endpoint.Meter }

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func protocolOf(provider string) (protocol, string) {
	switch provider {
	case ProviderOllama:
		return ollama{}, "http://127.0.0.1:11434"
	case ProviderOpenAI:
		return openAI{}, "https://api.openai.com/v1"
	case ProviderAnthropic:
		return anthropic{}, "https://api.anthropic.com"
	case ProviderHermes:
		return hermes{}, "" // it has no usual address
	}
	return nil, ""
}
