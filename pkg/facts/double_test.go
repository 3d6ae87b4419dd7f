package facts_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/facts"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// double answers like one provider: say returns the text and why it ended.
type double struct {
	*httptest.Server
	asked []string // what came, whole bodies
}

func newDouble(t *testing.T, provider string, say func(call int) (text, stop string)) *double {
	t.Helper()
	d := &double{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		d.asked = append(d.asked, string(raw))
		text, stop := say(len(d.asked))
		_ = json.NewEncoder(w).Encode(replyOf(provider, text, stop))
	}))
	t.Cleanup(d.Close)
	return d
}

func replyOf(provider, text, stop string) any {
	switch provider {
	case summarize.ProviderOllama:
		return map[string]any{"message": map[string]string{"content": text}, "done": true, "done_reason": stop, "prompt_eval_count": 90, "eval_count": 10}
	case summarize.ProviderOpenAI:
		return map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": text}, "finish_reason": stop}}, "usage": map[string]int{"prompt_tokens": 90, "completion_tokens": 10}}
	case summarize.ProviderAnthropic:
		reason := map[string]string{"stop": "end_turn", "length": "max_tokens"}[stop]
		return map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}, "stop_reason": reason, "usage": map[string]int{"input_tokens": 90, "output_tokens": 10}}
	}
	return map[string]any{"response": text, "session_id": "s", "latency_ms": 5}
}

func providers() []string {
	return []string{summarize.ProviderOllama, summarize.ProviderOpenAI, summarize.ProviderAnthropic, summarize.ProviderHermes}
}

func endpoint(provider, url string) summarize.Endpoint {
	return summarize.Endpoint{
		Provider: provider, Model: "m", BaseURL: url, Key: "secret-key", Agent: "coordinator", Timeout: 10 * time.Second,
		Clock: summarize.Clock{Sleep: func(context.Context, time.Duration) error { return nil }},
	}
}

// talk is a conversation of a user and an agent in turns; its lines begin at 2.
func talk(said ...string) []facts.Message {
	var all []facts.Message
	for i, text := range said {
		role := session.RoleUser
		if i%2 == 1 {
			role = session.RoleAssistant
		}
		all = append(all, facts.Message{Role: role, Text: text, Line: i + 2, Time: 1_772_355_600_000 + int64(i)*1000})
	}
	return all
}

func extract(t *testing.T, e summarize.Endpoint, messages []facts.Message, known ...facts.Known) facts.Extraction {
	t.Helper()
	client, err := summarize.NewClient(e)
	if err != nil {
		t.Fatal(err)
	}
	x, err := facts.Extract(t.Context(), messages, known, facts.Options{Client: client, Once: e.Provider == summarize.ProviderHermes, Confidence: facts.DefaultConfidence})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// texts are the texts of facts.
func texts(x facts.Extraction) []string {
	all := []string{}
	for _, f := range x.Facts {
		all = append(all, f.Text)
	}
	return all
}
