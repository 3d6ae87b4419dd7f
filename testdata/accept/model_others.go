package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// The model as Codex and Gemini CLI ask it: by OpenAI's responses, and by
// Google's generateContent.

// item is a message, a call or a result in a request for a response.
type item struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Output  json.RawMessage `json:"output"`
}

// responseRequest is what matters of a request for a response.
type responseRequest struct {
	Model string `json:"model"`
	Input []item `json:"input"`
	Tools []struct {
		Name  string `json:"name"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	} `json:"tools"`
}

// seen is what the model notes of it.
func (q responseRequest) seen() request {
	seen := request{At: time.Now().UTC()}
	for _, x := range q.Input {
		switch {
		case x.Type == "function_call_output":
			text, _ := textOf(x.Output)
			seen.said = append(seen.said, message{"tool", text})
		case x.Role == "user":
			text, _ := textOf(x.Content)
			seen.said, seen.Last = append(seen.said, message{"user", text}), text
			seen.Users++
		case x.Type == "message" || x.Type == "":
			text, _ := textOf(x.Content)
			seen.told += text
			seen.answers = append(seen.answers, answered{len(seen.said), text})
		}
	}
	seen.call = nextCall(seen.said)
	return seen
}

// output is the answer: a sentence, or the call of a tool. Those of a server stand
// in a namespace.
func (q responseRequest) output(n int, call *toolCall) object {
	if call == nil {
		return object{"type": "message", "id": fmt.Sprintf("msg_%06d", n), "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": strings.Join(answer, ""), "annotations": []object{}}}}
	}
	out := object{"type": "function_call", "id": fmt.Sprintf("fc_%06d", n), "call_id": call.id, "name": call.name, "arguments": call.arguments, "status": "completed"}
	for _, tool := range q.Tools {
		for _, inner := range tool.Tools {
			if inner.Name == call.name {
				out["namespace"] = tool.Name
			}
		}
	}
	return out
}

// readBody reads the body of a request into a value; false if it was answered already.
func readBody(w http.ResponseWriter, r *http.Request, into any) (raw []byte, ok bool) {
	raw, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return raw, err == nil
}

// respond answers as OpenAI's responses do; Codex always streams.
func (m *model) respond(w http.ResponseWriter, r *http.Request) {
	var body responseRequest
	raw, ok := readBody(w, r, &body)
	if !ok {
		return
	}
	seen := body.seen()
	seen.body = raw
	m.note(seen)
	n, _ := m.requests()
	out := body.output(n, seen.call)
	whole := func(status string, output []object) object {
		return object{"id": fmt.Sprintf("resp_%06d", n), "object": "response", "created_at": time.Now().Unix(), "status": status, "model": body.Model, "output": output,
			"usage": object{"input_tokens": 100 * seen.Users, "output_tokens": 12, "total_tokens": 100*seen.Users + 12,
				"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}}}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	number := 0
	send := func(kind string, event object) {
		event["type"], event["sequence_number"] = kind, number
		number++
		text, _ := json.Marshal(event)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
		w.(http.Flusher).Flush()
	}
	send("response.created", object{"response": whole("in_progress", []object{})})
	send("response.output_item.added", object{"output_index": 0, "item": out})
	if seen.call == nil {
		send("response.output_text.delta", object{"item_id": out["id"], "output_index": 0, "content_index": 0, "delta": strings.Join(answer, "")})
	}
	send("response.output_item.done", object{"output_index": 0, "item": out})
	send("response.completed", object{"response": whole("completed", []object{out})})
}

// generate answers as Google's generateContent does, whole or as one event.
func (m *model) generate(w http.ResponseWriter, r *http.Request) {
	var body struct {
		System struct {
			Parts []struct {
				Text string `json:"text"`
			} `json:"parts"`
		} `json:"systemInstruction"`
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     string          `json:"text"`
				Response json.RawMessage `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
	}
	raw, ok := readBody(w, r, &body)
	if !ok {
		return
	}
	seen := request{At: time.Now().UTC(), body: raw}
	for _, p := range body.System.Parts {
		seen.told += p.Text
	}
	for _, c := range body.Contents {
		for _, p := range c.Parts {
			switch {
			case p.Response != nil:
				seen.said = append(seen.said, message{"tool", string(p.Response)})
			case c.Role == "user":
				seen.said, seen.Last = append(seen.said, message{"user", p.Text}), p.Text
				seen.Users++
			default:
				seen.answers = append(seen.answers, answered{len(seen.said), p.Text})
			}
		}
	}
	seen.call = nextCall(seen.said)
	m.note(seen)
	part := object{"text": strings.Join(answer, "")}
	if seen.call != nil {
		part = object{"functionCall": object{"name": seen.call.name, "args": json.RawMessage(seen.call.arguments)}}
	}
	whole := object{
		"candidates":    []object{{"index": 0, "finishReason": "STOP", "content": object{"role": "model", "parts": []object{part}}}},
		"usageMetadata": object{"promptTokenCount": 100 * seen.Users, "candidatesTokenCount": 12, "totalTokenCount": 100*seen.Users + 12},
		"modelVersion":  modelName, "responseId": fmt.Sprintf("g-%d", time.Now().UnixNano()),
	}
	if !strings.Contains(r.URL.Path, "streamGenerateContent") {
		writeJSON(w, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	text, _ := json.Marshal(whole)
	fmt.Fprintf(w, "data: %s\n\n", text)
}
