package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// model is a language model on the loopback interface that knows one sentence.
// It speaks OpenAI's chat completions and responses, Anthropic's messages and
// Google's generateContent, whole and streamed. A line "CALL tool {arguments}" in
// the last user message makes it call a tool. The word "slow" in
// the last user message makes it wait, "slow12" for twelve seconds or until
// [model.hurry].
type model struct {
	port   int
	server *http.Server
	log    *os.File

	mutex sync.Mutex
	seen  []request
	rush  chan struct{} // closed when those that wait are to be answered
}

// request is what the model saw, one line of the log.
type request struct {
	At       time.Time       `json:"at"`
	Users    int             `json:"users"` // user messages: 1 is a fresh session
	Last     string          `json:"last"`  // the last of them
	said     []message       // all messages but the system's
	answers  []answered      // what Codex tells of the model's own, in order with said
	told     string          // by the system: its messages, and the developer's
	messages json.RawMessage // as they came
	body     []byte          // the same, of any protocol
	call     *toolCall       // that the last user message asks for, if it was not made yet
}

// answered is what the model said before, where a request does not have it among what was
// said: before how many messages.
type answered struct {
	before int
	text   string
}

// message is one message of a request.
type message struct {
	role, text string
}

// answer is all that the model has to say, in the pieces it is streamed in.
var answer = []string{"The van leaves at 06:40, ", "so the rye ", "goes in second."}

// startModel listens on a free port and logs requests to a file.
func startModel(logFile string) (*model, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{port: listener.Addr().(*net.TCPAddr).Port, log: log, rush: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	mux.HandleFunc("POST /v1/messages", m.message)
	mux.HandleFunc("POST /v1/responses", m.respond)
	mux.HandleFunc("POST /v1beta/models/{model}", m.generate)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, object{"input_tokens": 100})
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, object{"object": "list", "data": []object{{"id": modelName, "object": "model", "owned_by": "accept"}}})
	})
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = m.server.Serve(listener) }()
	return m, nil
}

// modelName is what the runtimes' configurations call the model.
const modelName = "mock-large"

func (m *model) stop() {
	_ = m.server.Close()
	_ = m.log.Close()
}

// url is what the runtimes' configurations name.
func (m *model) url() string { return fmt.Sprintf("http://127.0.0.1:%d/v1", m.port) }

// hurry answers all that wait because of the word "slow".
func (m *model) hurry() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	close(m.rush)
	m.rush = make(chan struct{})
}

// rushed is closed by the next hurry.
func (m *model) rushed() <-chan struct{} {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.rush
}

// requests returns how many requests there were and the last of them.
func (m *model) requests() (n int, last request) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if n = len(m.seen); n > 0 {
		last = m.seen[n-1]
	}
	return n, last
}

// since returns the requests after the first n.
func (m *model) since(n int) []request {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.seen[n:])
}

// chat is the part of a request that matters.
type chat struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// decode reads a request, notes it, and waits for as long as its last word asks.
// It returns false if there is nothing to answer.
func (m *model) decode(w http.ResponseWriter, r *http.Request) (c chat, seen request, ok bool) {
	var whole struct {
		Messages json.RawMessage `json:"messages"`
	}
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, json.Unmarshal(body, &c), json.Unmarshal(body, &whole)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return c, seen, false
	}
	seen = request{At: time.Now().UTC(), messages: whole.Messages, body: body}
	for _, m := range c.Messages {
		text, result := textOf(m.Content)
		if result {
			m.Role = "tool"
		}
		if m.Role == "system" || m.Role == "developer" {
			seen.told += text
		} else {
			seen.said = append(seen.said, message{m.Role, text})
		}
		if m.Role == "user" {
			seen.Users++
			seen.Last = text
		}
	}
	seen.call = nextCall(seen.said)
	rush := m.rushed()
	m.note(seen)
	select {
	case <-r.Context().Done(): // the runtime has given up
		return c, seen, false
	case <-rush:
	case <-time.After(delayOf(seen.Last)):
	}
	return c, seen, true
}

func (m *model) complete(w http.ResponseWriter, r *http.Request) {
	c, seen, ok := m.decode(w, r)
	if !ok {
		return
	}
	usage := object{"prompt_tokens": 100 * seen.Users, "completion_tokens": 12, "total_tokens": 100*seen.Users + 12}
	if c.Stream {
		stream(w, seen.call, usage)
		return
	}
	writeJSON(w, object{
		"id": "chat-1", "object": "chat.completion", "created": time.Now().Unix(), "model": modelName, "usage": usage,
		"choices": []object{{"index": 0, "finish_reason": "stop", "message": object{"role": "assistant", "content": strings.Join(answer, "")}}},
	})
}

// message answers as Anthropic does.
func (m *model) message(w http.ResponseWriter, r *http.Request) {
	c, seen, ok := m.decode(w, r)
	if !ok {
		return
	}
	n, _ := m.requests()
	usage := object{"input_tokens": 100 * seen.Users, "output_tokens": 12}
	whole := object{
		"id": fmt.Sprintf("msg_%06d", n), "type": "message", "role": "assistant", "model": c.Model,
		"content": []object{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
	if !c.Stream {
		whole["content"], whole["stop_reason"] = []object{{"type": "text", "text": strings.Join(answer, "")}}, "end_turn"
		writeJSON(w, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event object) {
		text, _ := json.Marshal(event)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], text)
		w.(http.Flusher).Flush()
	}
	send(object{"type": "message_start", "message": whole})
	if seen.call != nil {
		send(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "tool_use", "id": seen.call.id, "name": seen.call.name, "input": object{}}})
		send(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "input_json_delta", "partial_json": seen.call.arguments}})
		send(object{"type": "content_block_stop", "index": 0})
		send(object{"type": "message_delta", "delta": object{"stop_reason": "tool_use", "stop_sequence": nil}, "usage": usage})
		send(object{"type": "message_stop"})
		return
	}
	send(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
	for _, piece := range answer {
		send(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": piece}})
	}
	send(object{"type": "content_block_stop", "index": 0})
	send(object{"type": "message_delta", "delta": object{"stop_reason": "end_turn", "stop_sequence": nil}, "usage": usage})
	send(object{"type": "message_stop"})
}

func (m *model) note(seen request) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.seen = append(m.seen, seen)
	_ = json.NewEncoder(m.log).Encode(seen) // for people only
}

// textOf is the text of a message: a string, or a list of parts, and whether it
// is the result of a tool.
func textOf(content json.RawMessage) (text string, result bool) {
	if json.Unmarshal(content, &text) == nil {
		return text, false
	}
	var parts []struct {
		Type    string          `json:"type"`
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(content, &parts) // no parts, no text
	for _, p := range parts {
		text += p.Text
		if p.Type == "tool_result" {
			inner, _ := textOf(p.Content)
			text, result = text+inner, true
		}
	}
	return text, result
}

// toolCall is a call of a tool that the model makes.
type toolCall struct{ id, name, arguments string }

// wantedCall is how a user asks the model to call a tool: one line a call.
var wantedCall = regexp.MustCompile(`(?m)CALL (\S+) (\{[^\n]*\})$`)

// nextCall is the first call that the last user message asks for and that has no
// result yet.
func nextCall(said []message) *toolCall {
	results := 0
	for i, m := range slices.Backward(said) {
		if m.role == "tool" {
			results++
		}
		wanted := wantedCall.FindAllStringSubmatch(m.text, -1)
		if m.role != "user" || len(wanted) == 0 {
			if m.role == "user" && !fromRuntime(m.text) {
				return nil
			}
			continue
		}
		if results >= len(wanted) {
			return nil
		}
		return &toolCall{fmt.Sprintf("call_%06d%03d", i, results), wanted[results][1], wanted[results][2]}
	}
	return nil
}

// fromRuntime reports whether a runtime has put a message behind the user's, in
// the user's name: Claude Code does, and OpenClaw from 2026.9 on.
func fromRuntime(text string) bool {
	return strings.Contains(text, "<system-reminder>") || strings.Contains(text, "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>")
}

// delayOf is how long the model thinks about a message.
func delayOf(text string) time.Duration {
	for _, word := range strings.Fields(text) {
		if number, ok := strings.CutPrefix(word, "slow"); ok {
			if seconds, err := strconv.Atoi(number); err == nil {
				return time.Duration(seconds) * time.Second
			}
			return 6 * time.Second
		}
	}
	return 0
}

type object = map[string]any

func writeJSON(w http.ResponseWriter, value object) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // a runtime that has gone needs no answer
}

// stream sends the answer as server-sent events.
func stream(w http.ResponseWriter, call *toolCall, usage object) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(choices []object, usage any) {
		event, _ := json.Marshal(object{
			"id": "chat-1", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": modelName,
			"choices": choices, "usage": usage,
		})
		fmt.Fprintf(w, "data: %s\n\n", event)
		w.(http.Flusher).Flush()
	}
	send([]object{{"index": 0, "delta": object{"role": "assistant", "content": ""}, "finish_reason": nil}}, nil)
	reason := "stop"
	if call != nil {
		reason = "tool_calls"
		send([]object{{"index": 0, "finish_reason": nil, "delta": object{"tool_calls": []object{{
			"index": 0, "id": call.id, "type": "function", "function": object{"name": call.name, "arguments": call.arguments},
		}}}}}, nil)
	} else {
		for _, piece := range answer {
			send([]object{{"index": 0, "delta": object{"content": piece}, "finish_reason": nil}}, nil)
		}
	}
	send([]object{{"index": 0, "delta": object{}, "finish_reason": reason}}, nil)
	send([]object{}, usage)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
