package summarize

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// turn is one message of a chat.
type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (p Prompt) turns() []turn {
	return []turn{{"system", p.System}, {"user", p.User}}
}

// Why an answer is not whole.
const (
	cutShort = "it was cut off"
	refused  = "the model refused"
)

var errNoAnswer = errors.New("it holds no answer")

// ollama is POST /api/chat (github.com/ollama/ollama, docs/api.md).
type ollama struct{}

func (ollama) request(e *Endpoint, p Prompt) (string, http.Header, any) {
	body := map[string]any{
		"model": e.Model, "messages": p.turns(), "stream": false,
		// Without num_ctx the server cuts what is longer than a few thousand tokens.
		"options": map[string]any{"num_ctx": e.Window, "num_predict": p.MaxTokens, "temperature": 0},
	}
	if p.JSON {
		body["format"] = "json"
	}
	return "/api/chat", bearer(e.Key), body
}

func (ollama) answer(e *Endpoint, reply []byte) (Answer, error) {
	var r struct {
		Message    *turn  `json:"message"`
		Done       bool   `json:"done"`
		DoneReason string `json:"done_reason"`
		Prompt     int64  `json:"prompt_eval_count"`
		Eval       int64  `json:"eval_count"`
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return Answer{}, err
	}
	if r.Message == nil {
		return Answer{}, errNoAnswer
	}
	a := Answer{Text: r.Message.Content, Tokens: r.Prompt + r.Eval}
	if !r.Done || r.DoneReason == "length" || a.Tokens >= int64(e.Window) {
		a.Cut = cutShort
	}
	return a, nil
}

// openAI is POST /chat/completions.
type openAI struct{}

func (openAI) request(e *Endpoint, p Prompt) (string, http.Header, any) {
	limit := "max_tokens" // what compatible servers know
	if strings.Contains(e.BaseURL, "://api.openai.com/") {
		limit = "max_completion_tokens" // what its newer models insist on
	}
	body := map[string]any{"model": e.Model, "messages": p.turns(), limit: p.MaxTokens}
	if p.JSON {
		body["response_format"] = map[string]string{"type": "json_object"}
	}
	return "/chat/completions", bearer(e.Key), body
}

func (openAI) answer(_ *Endpoint, reply []byte) (Answer, error) {
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
	if err := json.Unmarshal(reply, &r); err != nil {
		return Answer{}, err
	}
	if len(r.Choices) == 0 {
		return Answer{}, errNoAnswer
	}
	c := r.Choices[0]
	a := Answer{Text: c.Message.Content, Tokens: r.Usage.Prompt + r.Usage.Completion}
	switch {
	case c.Message.Refusal != "" || c.Reason == "content_filter":
		a.Cut = refused
	case c.Reason == "length":
		a.Cut = cutShort
	}
	return a, nil
}

// anthropic is POST /v1/messages.
type anthropic struct{}

func (anthropic) request(e *Endpoint, p Prompt) (string, http.Header, any) {
	h := http.Header{}
	h.Set("anthropic-version", "2023-06-01")
	if e.Key != "" {
		h.Set("x-api-key", e.Key)
	}
	return "/v1/messages", h, map[string]any{
		"model": e.Model, "max_tokens": p.MaxTokens, "system": p.System,
		"messages": []turn{{"user", p.User}},
	}
}

func (anthropic) answer(_ *Endpoint, reply []byte) (Answer, error) {
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
	if err := json.Unmarshal(reply, &r); err != nil {
		return Answer{}, err
	}
	if r.Content == nil && r.Reason == "" {
		return Answer{}, errNoAnswer
	}
	a := Answer{Tokens: r.Usage.Input + r.Usage.Output}
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
	}
	return a, nil
}

// hermes is POST /api/v1/agent/ask (seed 002). The agent answers in a session
// of its own that has not seen the conversation (research/behaviours.md
// section 1b): the question must hold it.
type hermes struct{}

func (hermes) request(e *Endpoint, p Prompt) (string, http.Header, any) {
	return "/api/v1/agent/ask", bearer(e.Key), map[string]string{
		"caller_id": "compaction", "target_agent": e.Agent, "message": p.System + "\n\n" + p.User,
		"priority": "high", "purpose": "session-compaction",
	}
}

func (hermes) answer(_ *Endpoint, reply []byte) (Answer, error) {
	var r struct {
		Response *string `json:"response"`
	}
	if err := json.Unmarshal(reply, &r); err != nil {
		return Answer{}, err
	}
	if r.Response == nil {
		return Answer{}, errNoAnswer
	}
	return Answer{Text: *r.Response}, nil
}

func bearer(key string) http.Header {
	h := http.Header{}
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	return h
}
