package summarize

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/sessctl/sessctl/internal/modelhttp"
)

// protocol is how to talk to one provider.
type protocol interface {
	path() string // below the base URL
	header(key string) map[string]string
	body(e *Endpoint, r Request) any
	// reply reads a body of status 200.
	reply(e *Endpoint, body []byte) (Reply, error)
}

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
// (docs/dev/decisions.md D18).
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
