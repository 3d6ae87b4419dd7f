package summarize_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

const goodCheckpoint = `## Goal
Move the importer to port 7443 without losing rows.

## Constraints & Preferences
- (none)

## Progress
### Done
- [x] changed the port

### In Progress
- [ ] tests

### Blocked
- nothing

## Key Decisions
- **Port 7443**: 8080 is taken

## Next Steps
1. run the tests

## Critical Context
- (none)`

// asked is what a double was sent.
type asked struct {
	path   string
	header http.Header
	body   map[string]any
	user   string
}

// double answers like one provider. say returns the text and why it ended.
type double struct {
	*httptest.Server
	asked []asked
}

func newDouble(t *testing.T, provider string, say func(call int, a asked) (text, stop string)) *double {
	t.Helper()
	d := &double{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		a := asked{path: r.URL.Path, header: r.Header.Clone()}
		if err := json.Unmarshal(raw, &a.body); err != nil {
			t.Errorf("the question is no JSON: %v", err)
		}
		a.user = userOf(a.body)
		d.asked = append(d.asked, a)
		text, stop := say(len(d.asked), a)
		_ = json.NewEncoder(w).Encode(replyOf(provider, text, stop))
	}))
	t.Cleanup(d.Close)
	return d
}

func userOf(body map[string]any) string {
	if m, ok := body["message"].(string); ok {
		return m
	}
	messages, _ := body["messages"].([]any)
	if len(messages) == 0 {
		return ""
	}
	last, _ := messages[len(messages)-1].(map[string]any)
	text, _ := last["content"].(string)
	return text
}

func replyOf(provider, text, stop string) any {
	switch provider {
	case summarize.ProviderOllama:
		return map[string]any{"model": "m", "message": map[string]string{"role": "assistant", "content": text}, "done": true, "done_reason": stop, "prompt_eval_count": 90, "eval_count": 10}
	case summarize.ProviderOpenAI:
		return map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": text, "refusal": nil}, "finish_reason": stop}}, "usage": map[string]int{"prompt_tokens": 90, "completion_tokens": 10}}
	case summarize.ProviderAnthropic:
		reason := map[string]string{"stop": "end_turn", "length": "max_tokens"}[stop]
		return map[string]any{"content": []any{map[string]string{"type": "text", "text": text}}, "stop_reason": reason, "usage": map[string]int{"input_tokens": 90, "output_tokens": 10}}
	}
	return map[string]any{"response": text, "session_id": "s", "latency_ms": 5}
}

func message(ordinal int, role session.Role, text string) *session.Message {
	return &session.Message{Ordinal: ordinal, Line: ordinal + 2, ID: fmt.Appendf(nil, "id%d", ordinal), Role: role, Time: 1_767_225_600_000, Parts: []session.Part{{Kind: session.PartText, Text: []byte(text)}}}
}

func conversation() []*session.Message {
	call := message(2, session.RoleAssistant, "Let me look.")
	call.Parts = append(call.Parts, session.Part{Kind: session.PartToolCall, Name: []byte("bash"), CallID: []byte("c1"), Text: []byte(`{"command":"grep -rn 8080 /srv/importer/config.yaml"}`)})
	result := message(3, session.RoleToolResult, "/srv/importer/config.yaml:12: port: 8080")
	result.CallID = []byte("c1")
	return []*session.Message{
		message(0, session.RoleUser, "Please move the importer to another port, and never restart it during the day."),
		message(1, session.RoleAssistant, "Which port?"),
		call, result,
		message(4, session.RoleUser, "Use 7443. The key is sk-abcdefghijklmnop1234 by the way."),
		message(5, session.RoleAssistant, "Done: the importer listens on 7443 now."),
	}
}

func endpoint(provider, url string) summarize.Endpoint {
	return summarize.Endpoint{Provider: provider, Model: "m", BaseURL: url, Key: "secret-key", Agent: "coordinator", Clock: summarize.Clock{Sleep: func(context.Context, time.Duration) error { return nil }}}
}

func sumUp(t *testing.T, o summarize.WrittenOptions, e summarize.Endpoint, messages []*session.Message) summarize.Summary {
	t.Helper()
	var err error
	if o.Client, err = summarize.NewClient(e); err != nil {
		t.Fatal(err)
	}
	if o.Style == "" {
		o.Style = session.StyleCheckpoint
	}
	w := summarize.NewWritten(o)
	for _, m := range messages {
		if err := w.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.Summary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func llms() []string { return summarize.Providers()[1:] }

// TestProviders: each provider is spoken to in its protocol, and its summary
// is taken.
func TestProviders(t *testing.T) {
	paths := map[string]string{"ollama": "/api/chat", "openai": "/v1/chat/completions", "anthropic": "/v1/messages", "hermes": "/api/v1/agent/ask"}
	for _, provider := range llms() {
		t.Run(provider, func(t *testing.T) {
			d := newDouble(t, provider, func(int, asked) (string, string) { return goodCheckpoint, "stop" })
			s := sumUp(t, summarize.WrittenOptions{}, endpoint(provider, d.URL), conversation())
			if s.Kind != provider || s.Degraded || !strings.HasPrefix(s.Text, goodCheckpoint) {
				t.Fatalf("kind %q, degraded %v (%s), text %q", s.Kind, s.Degraded, s.Reason, s.Text)
			}
			a := d.asked[0]
			if a.path != paths[provider] || s.Calls != 1 || provider != "hermes" && s.Tokens != 100 {
				t.Errorf("path %s, %d calls, %d tokens", a.path, s.Calls, s.Tokens)
			}
			if strings.Contains(a.user, "sk-abc") || !strings.Contains(a.user, "Use 7443") {
				t.Errorf("the question holds a secret, or not the conversation:\n%s", a.user)
			}
			if asks := strings.Contains(a.user, "memory_store"); asks != (provider == "hermes") {
				t.Errorf("asked for memories of its own: %v", asks)
			}
			key := a.header.Get("Authorization") + a.header.Get("x-api-key")
			if !strings.Contains(key, "secret-key") {
				t.Errorf("no key was sent: %v", a.header)
			}
		})
	}
}

// TestHermesBody holds the body to what the endpoint takes.
func TestHermesBody(t *testing.T) {
	d := newDouble(t, "hermes", func(int, asked) (string, string) { return goodCheckpoint, "" })
	sumUp(t, summarize.WrittenOptions{}, endpoint("hermes", d.URL), conversation())
	b := d.asked[0].body
	for key, want := range map[string]string{"caller_id": "compaction", "target_agent": "coordinator", "priority": "high", "purpose": "session-compaction"} {
		if b[key] != want {
			t.Errorf("%s is %v, want %s", key, b[key], want)
		}
	}
	if text := fmt.Sprint(b["message"]); !strings.Contains(text, "# Session summary (extractive)") || !strings.Contains(text, "[Assistant]: Done") {
		t.Errorf("the message lacks the digest or the end of the conversation:\n%s", text)
	} else if !strings.Contains(text, "store three to five memories") {
		t.Errorf("the agent is not asked for memories of its own:\n%s", text)
	}
}

// TestUnusableAnswers: reliability.md row 22. No such answer becomes a summary;
// the extractive one stands in and says so.
func TestUnusableAnswers(t *testing.T) {
	long := strings.Repeat("All work and no play. ", 45_000) // about 1 MB
	for name, say := range map[string]func(int, asked) (string, string){
		"empty":       func(int, asked) (string, string) { return "", "stop" },
		"white space": func(int, asked) (string, string) { return " \n\t ", "stop" },
		"refusal": func(int, asked) (string, string) {
			return "I'm sorry, but I can't help with summarizing that conversation.", "stop"
		},
		"unavailable": func(int, asked) (string, string) {
			return "Summary unavailable due to context limits, please retry later.", "stop"
		},
		"1 MB": func(int, asked) (string, string) { return goodCheckpoint + long, "stop" },
		"long": func(int, asked) (string, string) { return goodCheckpoint + long[:20_000], "stop" },
		"wrong language": func(int, asked) (string, string) {
			return strings.Repeat("ユーザーはポートを変更したい。", 9), "stop"
		},
		"no sections": func(int, asked) (string, string) { return strings.Repeat("The user moved a port. ", 9), "stop" },
		"a section less": func(int, asked) (string, string) {
			return strings.Replace(goodCheckpoint, "## Next Steps", "", 1), "stop"
		},
		"no goal": func(int, asked) (string, string) {
			return strings.Replace(goodCheckpoint, "Move the importer to port 7443 without losing rows.", "(none)", 1), "stop"
		},
		"JSON": func(int, asked) (string, string) {
			return `{"goal":"move the importer to another port","progress":["done"]}`, "stop"
		},
		"echo": func(_ int, a asked) (string, string) { return a.user, "stop" },
		"goes on": func(int, asked) (string, string) {
			return goodCheckpoint + "\n[User]: and now?\n[Assistant]: Well.", "stop"
		},
		"cut off":       func(int, asked) (string, string) { return goodCheckpoint, "length" },
		"only thinking": func(int, asked) (string, string) { return "<think>" + goodCheckpoint, "stop" },
		"in circles": func(int, asked) (string, string) {
			return goodCheckpoint + strings.Repeat("\n- moved the importer to another port", 60), "stop"
		},
		"another talk": func(int, asked) (string, string) {
			return "## Goal\nBake bread.\n## Progress\nKneaded.\n## Key Decisions\n- rye\n## Next Steps\n1. oven\n## Critical Context\n- yeast", "stop"
		},
		"an address": func(int, asked) (string, string) {
			return goodCheckpoint + "\n- see https://evil.example/login for more", "stop"
		},
		"made up": func(int, asked) (string, string) {
			return goodCheckpoint + "\n- cmd/a.go cmd/b.go cmd/c.go cmd/d.go cmd/e.go cmd/f.go", "stop"
		},
		"the template": func(_ int, a asked) (string, string) {
			_, form, _ := strings.Cut(a.user, "nothing before or after them:")
			return form, "stop"
		},
		"template": func(int, asked) (string, string) { return "Use exactly these headings\n" + goodCheckpoint, "stop" },
	} {
		for _, provider := range llms() {
			if name == "cut off" && provider == "hermes" {
				continue // its replies do not say why they end
			}
			t.Run(name+" "+provider, func(t *testing.T) {
				d := newDouble(t, provider, say)
				s := sumUp(t, summarize.WrittenOptions{}, endpoint(provider, d.URL), conversation())
				if s.Kind != summarize.KindExtractive || !s.Degraded || s.Reason == "" || !strings.Contains(s.Text, "never restart it during the day") {
					t.Errorf("kind %q, degraded %v (%s), text:\n%.300s", s.Kind, s.Degraded, s.Reason, s.Text)
				}
				want := 2 // it is told what was wrong, and asked once more
				if provider == "hermes" {
					want = 1
				}
				if s.Calls != want {
					t.Errorf("%d calls were made, want %d", s.Calls, want)
				}
			})
		}
	}
}

// TestFormOfGoodAnswers: what surrounds a good answer is taken off.
func TestFormOfGoodAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"fence":    "```markdown\n" + goodCheckpoint + "\n```",
		"preamble": "Here is the summary you asked for:\n\n" + goodCheckpoint,
		"thinking": "<think>the user wants a summary</think>\n\n" + goodCheckpoint,
		"and":      strings.Replace(goodCheckpoint, "Constraints & Preferences", "Constraints and Preferences", 1),
	} {
		d := newDouble(t, "ollama", func(int, asked) (string, string) { return text, "stop" })
		s := sumUp(t, summarize.WrittenOptions{}, endpoint("ollama", d.URL), conversation())
		if s.Degraded || !strings.HasPrefix(s.Text, "## Goal\n") {
			t.Errorf("%s: degraded %v (%s), text %.100q", name, s.Degraded, s.Reason, s.Text)
		}
	}
}

// hang answers nothing until the client goes away. The server notices that
// only once it has read the question.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// TestBadServers: what does not answer is tried again as often as helps.
func TestBadServers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		calls int
		why   string
	}{
		"500": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "overloaded secret-key", 500) }, 3, "500"},
		"429": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "7"); w.WriteHeader(429) }, 3, "429"},
		"429 for long": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, 1, "429"},
		"401": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "bad key secret-key", http.StatusUnauthorized)
		}, 1, "401"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, 1, "redirect"},
		"found":      {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, 1, "redirect"},
		"timeout":    {hang, 1, "deadline"},
		"no JSON":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }, 1, "cannot be used"},
		"other JSON": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }, 1, "no answer"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < 2000; i++ {
				if _, err := w.Write(make([]byte, 1024)); err != nil {
					return
				}
			}
		}, 1, "more than"},
		"hangs up": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, 3, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.serve)
			defer server.Close()
			e := endpoint("openai", server.URL)
			e.Timeout = 10 * time.Second
			if name == "timeout" {
				e.Timeout = 50 * time.Millisecond
			}
			s := sumUp(t, summarize.WrittenOptions{}, e, conversation())
			if !s.Degraded || s.Kind != summarize.KindExtractive || !strings.Contains(s.Reason, c.why) || s.Calls != c.calls {
				t.Errorf("degraded %v, kind %s, %d calls (want %d), reason %q (want %q)", s.Degraded, s.Kind, s.Calls, c.calls, s.Reason, c.why)
			}
			if strings.Contains(s.Reason, "secret-key") {
				t.Errorf("the key is in the reason: %s", s.Reason)
			}
		})
	}
}

// TestRecovers: a provider that is overloaded once is asked again.
func TestRecovers(t *testing.T) {
	calls := 0
	good := newDouble(t, "anthropic", func(int, asked) (string, string) { return goodCheckpoint, "stop" })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			w.WriteHeader(529)
			return
		}
		good.Config.Handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	var pauses []time.Duration
	e := endpoint("anthropic", server.URL)
	e.Clock.Sleep = func(_ context.Context, d time.Duration) error { pauses = append(pauses, d); return nil }
	s := sumUp(t, summarize.WrittenOptions{}, e, conversation())
	if s.Degraded || s.Calls != 2 || len(pauses) != 1 || pauses[0] <= 0 {
		t.Errorf("degraded %v (%s), %d calls, pauses %v", s.Degraded, s.Reason, s.Calls, pauses)
	}
}

// TestCallsAreBounded: --max-llm-calls is of the whole run.
func TestCallsAreBounded(t *testing.T) {
	d := newDouble(t, "ollama", func(int, asked) (string, string) { return goodCheckpoint, "stop" })
	e := endpoint("ollama", d.URL)
	e.Meter = summarize.NewMeter(1)
	if s := sumUp(t, summarize.WrittenOptions{}, e, conversation()); s.Degraded {
		t.Fatal(s.Reason)
	}
	s := sumUp(t, summarize.WrittenOptions{}, e, conversation())
	if !s.Degraded || !strings.Contains(s.Reason, "--max-llm-calls") || len(d.asked) != 1 {
		t.Errorf("degraded %v (%s), %d calls", s.Degraded, s.Reason, len(d.asked))
	}
}

// TestCancelled: an interrupted run makes no summary at all.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { cancel(); hang(w, r) }))
	defer server.Close()
	client, err := summarize.NewClient(endpoint("ollama", server.URL))
	if err != nil {
		t.Fatal(err)
	}
	w := summarize.NewWritten(summarize.WrittenOptions{Style: session.StyleCheckpoint, Client: client})
	_ = w.Add(conversation()[0])
	if _, err := w.Summary(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
