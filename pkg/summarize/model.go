package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The providers that can be asked for a summary or for facts.
const (
	ProviderExtractive = "extractive" // no model: [Extractive]
	ProviderOllama     = "ollama"     // POST /api/chat
	ProviderOpenAI     = "openai"     // POST /v1/chat/completions, and whatever is compatible
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
	MinWindow            = 4096   // tokens: instructions, an answer and something to sum up
)

// Clock is how time passes while a provider is asked.
type Clock struct {
	Now   func() time.Time                                 // nil is time.Now
	Sleep func(ctx context.Context, d time.Duration) error // nil sleeps, and returns ctx.Err() if ctx is done first
}

// Endpoint is where a model answers.
type Endpoint struct {
	Provider string
	Model    string        // as the provider names it; Hermes needs none
	BaseURL  string        // http or https, without user and query; "" is the provider's own
	Key      string        // of the API; "" sends none
	Timeout  time.Duration // of one call; 0 is the default
	Window   int           // tokens that the model reads at most; 0 is DefaultWindow
	Agent    string        // that Hermes is to ask
	Meter    *Meter        // of the run; nil is one of its own for DefaultMaxCalls
	Clock    Clock
}

// Request is one question.
type Request struct {
	System    string // instructions
	User      string // what they are about: data between tags, see [Fence]
	MaxTokens int    // of the answer
	JSON      bool   // the answer is to be one JSON object
	Purpose   string // for Hermes, which keeps a session for each; "" is PurposeCompaction
}

// The purposes that Hermes is told (research/behaviours.md section 1b).
const (
	PurposeCompaction = "session-compaction"
	PurposeReacquaint = "session-reacquaint"
)

// Reply is what the model said.
type Reply struct {
	Text   string // without what it said to itself; it may be ""
	Tokens int64  // in and out, as the provider counts them; 0 if it does not say
	// Cut is why the answer is not whole: the model had to stop, or it refused.
	// "" if it is whole.
	Cut string
}

// protocol is how one provider is spoken to.
type protocol interface {
	path() string // below the base URL
	sign(h http.Header, key string)
	body(e *Endpoint, r Request) any
	// reply reads a body of status 200.
	reply(e *Endpoint, body []byte) (Reply, error)
}

// Client asks one model of one server, and no other: it follows no redirect.
// It may be used by several goroutines.
type Client struct {
	endpoint Endpoint
	base     *url.URL
	protocol protocol
	http     *http.Client
}

// NewClient checks the endpoint and returns a client for it. Nothing is asked
// yet. The error says which of provider, model, address and window cannot be.
func NewClient(e Endpoint) (*Client, error) {
	p, usual := protocolOf(e.Provider)
	if p == nil {
		return nil, fmt.Errorf("no model is asked by the provider %q; there are %s", e.Provider, strings.Join(Providers()[1:], ", "))
	}
	base, err := parseBase(cmp.Or(e.BaseURL, usual))
	if err != nil {
		return nil, err
	}
	switch {
	case e.Model == "" && e.Provider != ProviderHermes:
		return nil, fmt.Errorf("the provider %s needs the name of a model", e.Provider)
	case e.Timeout < 0 || e.Window < 0:
		return nil, errors.New("a deadline or a window must not be negative")
	case e.Window > 0 && e.Window < MinWindow:
		return nil, fmt.Errorf("a window of %d tokens is too small; %d are needed", e.Window, MinWindow)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	return &Client{
		endpoint: e.complete(), base: base, protocol: p,
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

func (e Endpoint) complete() Endpoint {
	usual := DefaultTimeout
	if e.Provider == ProviderHermes {
		usual = DefaultHermesTimeout
	}
	e.Timeout, e.Window = cmp.Or(e.Timeout, usual), cmp.Or(e.Window, DefaultWindow)
	if e.Meter == nil {
		e.Meter = NewMeter(DefaultMaxCalls)
	}
	if e.Clock.Now == nil {
		e.Clock.Now = time.Now
	}
	if e.Clock.Sleep == nil {
		e.Clock.Sleep = sleep
	}
	return e
}

// parseBase accepts http and https URLs without user, query and fragment: a
// key in a URL would be shown and logged. The protocols add /v1 themselves.
func parseBase(raw string) (*url.URL, error) {
	base, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("the base URL cannot be read") // err repeats it, with what may be a password
	}
	switch {
	case raw == "":
		return nil, errors.New("the provider needs a base URL")
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("the base URL has the scheme %q, not http or https", base.Scheme)
	case base.Hostname() == "":
		return nil, errors.New("the base URL has no host")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("the base URL has a user, a query or a fragment; keys do not belong there")
	}
	base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/v1")
	return base, nil
}

// Name is the provider and model, as receipts name them.
func (c *Client) Name() string {
	if c.endpoint.Model == "" {
		return c.endpoint.Provider
	}
	return c.endpoint.Provider + "/" + c.endpoint.Model
}

// Address is the base URL of the server. It holds no key.
func (c *Client) Address() string { return c.base.String() }

// Window is how many tokens the model reads at most.
func (c *Client) Window() int { return c.endpoint.Window }

// Meter counts this client's calls.
func (c *Client) Meter() *Meter { return c.endpoint.Meter }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// protocolOf returns how a provider is spoken to, and its usual address.
func protocolOf(provider string) (p protocol, usual string) {
	switch provider {
	case ProviderOllama:
		return ollama{}, "http://127.0.0.1:11434"
	case ProviderOpenAI:
		return openAI{}, "https://api.openai.com"
	case ProviderAnthropic:
		return anthropic{}, "https://api.anthropic.com"
	case ProviderHermes:
		return hermes{}, "" // it has no usual address
	}
	return nil, ""
}
