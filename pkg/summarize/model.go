package summarize

import (
	"cmp"
	"context"
	"encoding/json"
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
	ProviderHermes     = "hermes"     // POST /api/v1/agent/ask: the agent itself (docs/decisions.md D18)
)

// Providers returns all providers, the default first.
func Providers() []string {
	return []string{ProviderExtractive, ProviderOllama, ProviderOpenAI, ProviderAnthropic, ProviderHermes}
}

// Defaults of an [Endpoint]. The agent behind Hermes has 120 seconds of its own
// (docs/decisions.md D18).
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

// The purposes that Hermes is told: it keeps a session for each.
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

// protocol is how to talk to one provider.
type protocol interface {
	path() string // below the base URL
	header(key string) map[string]string
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
		e.Meter = NewMeter(DefaultMaxCalls)
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

// protocolOf returns the protocol of a provider, and its usual address.
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

// DefaultMaxCalls is how often models are asked in one run.
const DefaultMaxCalls = 50

// ErrCalls is returned when a run has made as many calls as it may.
var ErrCalls = errors.New("no more calls to models are allowed in this run (--max-llm-calls)")

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

// take counts a call before it is made; ErrCalls is returned if it may not be.
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
// up to a minute. Each try counts as a call; [ErrCalls] is returned when no
// more may be made. A call that took longer than its deadline is not repeated,
// and neither is one to a server that is not there.
//
// What looks like a secret is redacted before anything is sent. The reply may
// be [Reply.Cut] or empty: whether it is of use is for the caller to say. A
// provider that answers something else than a reply is a
// *modelhttp.StatusError or [ErrReply].
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
	case errors.Is(err, ErrCalls):
		return Reply{}, err
	case ctx.Err() != nil:
		return Reply{}, ctx.Err()
	case errors.As(err, &size):
		err = fmt.Errorf("%w: %w", ErrReply, err)
	}
	return Reply{}, fmt.Errorf("ask %s: %w", c.Name(), err)
}

func (c *Client) read(body []byte) (Reply, error) {
	r, err := c.protocol.reply(&c.endpoint, body)
	if err != nil {
		return Reply{}, fmt.Errorf("ask %s: %w: %w", c.Name(), ErrReply, err)
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

// ErrReply is returned when a provider answers 200 and no reply is in it:
// another protocol, half a document, or megabytes.
var ErrReply = errors.New("the reply cannot be used")

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

// turn is one message of a chat.
type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (r Request) turns() []turn {
	return []turn{{"system", r.System}, {"user", r.User}}
}

// Why an answer is not whole.
const (
	cutShort = "it was cut off"
	refused  = "the model refused"
	unended  = "it does not say that it is whole"
)

var errNoAnswer = errors.New("it holds no answer")

// ollama is POST /api/chat (the page api.md of github.com/ollama/ollama).
type ollama struct{}

func (ollama) path() string { return "/api/chat" }

func (ollama) header(key string) map[string]string { return modelhttp.Bearer(key) }

func (ollama) body(e *Endpoint, r Request) any {
	body := map[string]any{
		"model": e.Model, "messages": r.turns(), "stream": false,
		// Without num_ctx the server cuts what is longer than a few thousand
		// tokens.
		"options": map[string]any{"num_ctx": e.Window, "num_predict": r.MaxTokens, "temperature": 0},
	}
	if r.JSON {
		body["format"] = "json"
	}
	return body
}

func (ollama) reply(e *Endpoint, body []byte) (Reply, error) {
	var r struct {
		Message    *turn  `json:"message"`
		Done       bool   `json:"done"`
		DoneReason string `json:"done_reason"`
		Prompt     int64  `json:"prompt_eval_count"`
		Eval       int64  `json:"eval_count"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return Reply{}, err
	}
	if r.Message == nil {
		return Reply{}, errNoAnswer
	}
	a := Reply{Text: r.Message.Content, Tokens: r.Prompt + r.Eval}
	if !r.Done || r.DoneReason == "length" || a.Tokens >= int64(e.Window) {
		a.Cut = cutShort
	}
	return a, nil
}

// openAI is POST /v1/chat/completions.
type openAI struct{}

func (openAI) path() string { return "/v1/chat/completions" }

func (openAI) header(key string) map[string]string { return modelhttp.Bearer(key) }

func (openAI) body(e *Endpoint, r Request) any {
	limit := "max_tokens" // what compatible servers know
	if e.BaseURL == "" || strings.Contains(e.BaseURL, "://api.openai.com") {
		limit = "max_completion_tokens" // what its newer models insist on
	}
	body := map[string]any{"model": e.Model, "messages": r.turns(), limit: r.MaxTokens}
	if r.JSON {
		body["response_format"] = map[string]string{"type": "json_object"}
	}
	return body
}

func (openAI) reply(_ *Endpoint, body []byte) (Reply, error) {
	var r struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
				Refusal string `json:"refusal"`
			} `json:"message"`
			Reason string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			Prompt     int64 `json:"prompt_tokens"`
			Completion int64 `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return Reply{}, err
	}
	if len(r.Choices) == 0 {
		return Reply{}, errNoAnswer
	}
	c := r.Choices[0]
	a := Reply{Text: c.Message.Content, Tokens: r.Usage.Prompt + r.Usage.Completion}
	switch {
	case c.Message.Refusal != "" || c.Reason == "content_filter":
		a.Cut = refused
	case c.Reason == "length":
		a.Cut = cutShort
	case c.Reason == "":
		a.Cut = unended
	}
	return a, nil
}

// anthropic is POST /v1/messages.
type anthropic struct{}

func (anthropic) path() string { return "/v1/messages" }

func (anthropic) header(key string) map[string]string {
	h := map[string]string{"anthropic-version": "2023-06-01"}
	if key != "" {
		h["x-api-key"] = key
	}
	return h
}

func (anthropic) body(e *Endpoint, r Request) any {
	return map[string]any{
		"model": e.Model, "max_tokens": r.MaxTokens, "system": r.System,
		"messages": []turn{{"user", r.User}},
	}
}

func (anthropic) reply(_ *Endpoint, body []byte) (Reply, error) {
	var r struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Reason string `json:"stop_reason"`
		Usage  struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return Reply{}, err
	}
	if r.Content == nil && r.Reason == "" {
		return Reply{}, errNoAnswer
	}
	a := Reply{Tokens: r.Usage.Input + r.Usage.Output}
	for _, c := range r.Content {
		if c.Type == "text" {
			a.Text += c.Text
		}
	}
	switch r.Reason {
	case "max_tokens", "model_context_window_exceeded":
		a.Cut = cutShort
	case "refusal":
		a.Cut = refused
	case "":
		a.Cut = unended
	}
	return a, nil
}

// hermes is POST /api/v1/agent/ask. The agent answers in a session of its own
// that has not seen the conversation, so the question must hold it
// (docs/decisions.md D18).
type hermes struct{}

func (hermes) path() string { return "/api/v1/agent/ask" }

func (hermes) header(key string) map[string]string { return modelhttp.Bearer(key) }

func (hermes) body(e *Endpoint, r Request) any {
	purpose, priority := cmp.Or(r.Purpose, PurposeCompaction), "high"
	if purpose != PurposeCompaction {
		priority = "normal"
	}
	return map[string]string{
		"caller_id": "compaction", "target_agent": e.Agent, "message": strings.TrimSpace(r.System + "\n\n" + r.User),
		"priority": priority, "purpose": purpose,
	}
}

func (hermes) reply(_ *Endpoint, body []byte) (Reply, error) {
	var r struct {
		Response *string `json:"response"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return Reply{}, err
	}
	if r.Response == nil {
		return Reply{}, errNoAnswer
	}
	return Reply{Text: *r.Response}, nil
}
