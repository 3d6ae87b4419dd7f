package summarize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/internal/modelhttp"
)

// The providers that can be asked for a summary or for facts.
const (
	ProviderExtractive = "extractive" // no model: [Extractive]
	ProviderOllama     = "ollama"     // POST /api/chat
	ProviderOpenAI     = "openai"     // POST /v1/chat/completions, and whatever is compatible
	ProviderAnthropic  = "anthropic"  // POST /v1/messages
	ProviderHermes     = "hermes"     // POST /api/v1/agent/ask: the agent itself (docs/dev/decisions.md D18)
)

// Providers returns all providers, the default first.
func Providers() []string {
	return []string{ProviderExtractive, ProviderOllama, ProviderOpenAI, ProviderAnthropic, ProviderHermes}
}

// Defaults of an [Endpoint]. The agent behind Hermes has 120 seconds of its own
// (docs/dev/decisions.md D18).
const (
	DefaultTimeout       = 30 * time.Second
	DefaultHermesTimeout = 180 * time.Second
	DefaultWindow        = 32_000 // tokens
	MinWindow            = 4096   // tokens: instructions, an answer and something to sum up
)

// Clock is the time while a provider is asked.
type Clock = modelhttp.Clock

// Endpoint is where a model answers.
type Endpoint struct {
	Provider string
	Model    string        // as the provider names it; Hermes needs none
	BaseURL  string        // http or https, without user and query; "" is the provider's own
	Key      string        // of the API; "" sends none
	Timeout  time.Duration // of one call; 0 is the default
	Window   int           // tokens that the model reads at most; 0 is DefaultWindow
	Agent    string        // that Hermes is to ask
	Meter    *Meter        // of the run; nil is one of its own for defaultMaxCalls
	Clock    Clock
}

// The purposes that Hermes is told: it keeps a session for each.
const (
	PurposeCompaction = "session-compaction"
	PurposeReacquaint = "session-reacquaint"
)

// Request is one question.
type Request struct {
	System    string // instructions
	User      string // what they are about: data between tags, see [Fence]
	MaxTokens int    // of the answer
	JSON      bool   // the answer is to be one JSON object
	Purpose   string // for Hermes, which keeps a session for each; "" is PurposeCompaction
}

// Reply is what the model said.
type Reply struct {
	Text   string // without what it said to itself; it may be ""
	Tokens int64  // in and out, as the provider counts them; 0 if it does not say
	// Cut is why the answer is not whole: the model had to stop, or it refused.
	// "" if it is whole.
	Cut string
}

// errReply is returned when a provider answers 200 and no reply is in it:
// another protocol, half a document, or megabytes.
var errReply = errors.New("the reply cannot be used")

// Client asks one model of one server, and no other: it follows no redirect.
// It may be used by several goroutines.
type Client struct {
	endpoint Endpoint
	base     *url.URL
	protocol protocol
	http     *modelhttp.Client
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
	return &Client{endpoint: e.complete(), base: base, protocol: p, http: modelhttp.New(modelhttp.Options{
		Base: base, Header: p.header(e.Key), Key: e.Key, Mask: Redacted,
		Passing: passing, Tidy: shorten, Clock: e.Clock,
	})}, nil
}

func (e Endpoint) complete() Endpoint {
	usual := DefaultTimeout
	if e.Provider == ProviderHermes {
		usual = DefaultHermesTimeout
	}
	e.Timeout, e.Window = cmp.Or(e.Timeout, usual), cmp.Or(e.Window, DefaultWindow)
	if e.Meter == nil {
		e.Meter = NewMeter(defaultMaxCalls)
	}
	return e
}

// parseBase reads a base URL that may end in /v1, which the protocols add
// themselves.
func parseBase(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, errors.New("the provider needs a base URL")
	}
	base, err := modelhttp.ParseBase(raw)
	if err != nil {
		return nil, err
	}
	base.Path = strings.TrimSuffix(base.Path, "/v1")
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

// Bounds of a call.
const (
	maxReply    = 1 << 20 // bytes: a summary is some thousand
	firstWait   = 500 * time.Millisecond
	secondWait  = 2 * time.Second
	longestWait = 60 * time.Second // the longest Retry-After that is waited for
	maxWords    = 300              // code points of a provider's complaint
)

// Complete asks the model, up to three times if the provider is overloaded or
// the connection breaks. A provider that says how long to wait is waited for,
// up to a minute. Each try counts as a call; errCalls is returned when no
// more may be made. A call that took longer than its deadline is not repeated,
// and neither is one to a server that is not there.
//
// What looks like a secret is redacted before anything is sent. The reply may
// be [Reply.Cut] or empty: whether it is of use is for the caller to say. A
// provider that answers something else than a reply is a
// *modelhttp.StatusError or errReply.
func (c *Client) Complete(ctx context.Context, r Request) (Reply, error) {
	r.System, r.User = redact(r.System), redact(r.User)
	body, err := c.http.Ask(ctx, modelhttp.Question{
		Method: "POST", Path: c.protocol.path(), Body: c.protocol.body(&c.endpoint, r),
		Deadline: c.endpoint.Timeout, Limit: maxReply, Before: c.endpoint.Meter.take,
		Retry: modelhttp.Retry{Waits: []time.Duration{firstWait, secondWait}, Longest: longestWait, AtLeast: true},
	})
	var size *modelhttp.SizeError
	switch {
	case err == nil:
		return c.read(body)
	case errors.Is(err, errCalls):
		return Reply{}, err
	case ctx.Err() != nil:
		return Reply{}, ctx.Err()
	case errors.As(err, &size):
		err = fmt.Errorf("%w: %w", errReply, err)
	}
	return Reply{}, fmt.Errorf("ask %s: %w", c.Name(), err)
}

func (c *Client) read(body []byte) (Reply, error) {
	r, err := c.protocol.reply(&c.endpoint, body)
	if err != nil {
		return Reply{}, fmt.Errorf("ask %s: %w: %w", c.Name(), errReply, err)
	}
	c.endpoint.Meter.add(r.Tokens)
	r.Text = withoutThinking(r.Text)
	return r, nil
}

// withoutThinking removes what some models say to themselves first. Thinking
// that does not end leaves nothing.
func withoutThinking(text string) string {
	for _, tag := range []string{"think", "thinking"} {
		text = strings.TrimSpace(text)
		if rest, found := strings.CutPrefix(text, "<"+tag+">"); found {
			_, text, _ = strings.Cut(rest, "</"+tag+">")
		}
	}
	return strings.TrimSpace(text)
}

// shorten makes a provider's complaint one line of at most maxWords code
// points, without what looks like a secret.
func shorten(complaint string) string {
	return string(cutRunes([]byte(redact(strings.Join(strings.Fields(complaint), " "))), maxWords))
}

// passing says whether the same question may be answered a little later. Any
// server error may: 529 is a provider's "overloaded".
func passing(status int) bool {
	switch status {
	case 408, 425, 429: // timeout, too early, too many
		return true
	case 501: // not implemented
		return false
	}
	return status >= 500
}

// defaultMaxCalls is how often models are asked in one run.
const defaultMaxCalls = 50

// errCalls is returned when a run has made as many calls as it may.
var errCalls = errors.New("no more calls to models are allowed in this run (--max-llm-calls)")

// Meter counts the calls of a run, and stops them. It may be shared.
type Meter struct {
	mu     sync.Mutex
	max    int
	calls  int
	tokens int64
}

// NewMeter returns a meter that lets at most so many calls through, none for 0.
func NewMeter(most int) *Meter { return &Meter{max: most} }

// Spent returns the calls and their tokens, in and out, so far.
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

// take counts a call before it is made; errCalls is returned if it may not be.
func (m *Meter) take() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls >= m.max {
		return errCalls
	}
	m.calls++
	return nil
}

func (m *Meter) add(tokens int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens += tokens
}
