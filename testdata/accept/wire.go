package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// piece is one thing that a request says, in its order: kind is system, user, assistant,
// call or result. turn is the message that it stands in.
type piece struct {
	kind, id, name, text string
	turn                 int
}

// wire is the body of a request as the four protocols have it.
type wire struct {
	Messages []struct { // of chat completions and of Anthropic's messages
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		CallID  string          `json:"tool_call_id"`
		Calls   []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Input []struct { // of responses
		item
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"input"`
	Contents []struct { // of generateContent
		Role  string     `json:"role"`
		Parts []wirePart `json:"parts"`
	} `json:"contents"`
}

type wirePart struct {
	Text *string `json:"text"`
	Call *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// block is one of Anthropic's.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	CallID  string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
}

// pieces are what a request says.
func pieces(body []byte) (all []piece, err error) {
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	for i, m := range w.Messages {
		if m.Role == "tool" {
			text, _ := textOf(m.Content)
			all = append(all, piece{"result", m.CallID, "", text, i})
			continue
		}
		if said := blocks(m.Role, m.Content, i); len(m.Calls) == 0 || len(said) == 0 || said[0].text != "" {
			all = append(all, said...) // beside calls OpenAI takes an empty text for none
		}
		for _, c := range m.Calls {
			all = append(all, piece{"call", c.ID, c.Function.Name, c.Function.Arguments, i})
		}
	}
	for i, x := range w.Input {
		switch {
		case x.Type == "function_call":
			all = append(all, piece{"call", x.CallID, x.Name, x.Arguments, i})
		case strings.HasSuffix(x.Type, "_output"):
			text, _ := textOf(x.Output)
			all = append(all, piece{"result", x.CallID, "", text, i})
		case x.Type == "message" || x.Type == "":
			all = append(all, blocks(x.Role, x.Content, i)...)
		}
	}
	for i, c := range w.Contents {
		all = append(all, parts(c.Role, c.Parts, i)...)
	}
	return all, nil
}

// spoke is a role by one name for all protocols.
func spoke(role string) string {
	switch role {
	case "model":
		return "assistant"
	case "developer":
		return "system"
	}
	return role
}

// blocks are what the content of a message says: a string, or a list.
func blocks(role string, content json.RawMessage, turn int) (all []piece) {
	var text string
	if len(content) == 0 || string(content) == "null" {
		return nil
	}
	if json.Unmarshal(content, &text) == nil {
		return []piece{{spoke(role), "", "", text, turn}}
	}
	var list []block
	_ = json.Unmarshal(content, &list) // no list says nothing
	for _, b := range list {
		switch b.Type {
		case "tool_use":
			all = append(all, piece{"call", b.ID, b.Name, string(b.Input), turn})
		case "tool_result":
			text, _ := textOf(b.Content)
			all = append(all, piece{"result", b.CallID, "", text, turn})
		case "text", "input_text", "output_text":
			all = append(all, piece{spoke(role), "", "", b.Text, turn})
		}
	}
	return all
}

func parts(role string, list []wirePart, turn int) (all []piece) {
	for _, p := range list {
		switch {
		case p.Call != nil:
			all = append(all, piece{"call", p.Call.ID, p.Call.Name, string(p.Call.Args), turn})
		case p.Response != nil:
			var values map[string]any
			_ = json.Unmarshal(p.Response.Response, &values)
			text := ""
			for _, v := range values {
				text += fmt.Sprint(v)
			}
			all = append(all, piece{"result", p.Response.ID, p.Response.Name, text, turn})
		case p.Text != nil:
			all = append(all, piece{spoke(role), "", "", *p.Text, turn})
		}
	}
	return all
}

// refused says by which of their public rules a provider would refuse a request:
// Anthropic's messages, OpenAI's chat completions and responses, Google's
// generateContent.
func refused(body []byte) error {
	all, err := pieces(body)
	if err != nil {
		return err
	}
	var w wire
	_ = json.Unmarshal(body, &w) // pieces did it
	errs := []error{pairsRefused(all, len(w.Contents) > 0)}
	for _, p := range all {
		if strings.TrimSpace(p.text) == "" && (p.kind == "user" || p.kind == "assistant") {
			errs = append(errs, fmt.Errorf("message %d: an empty text", p.turn))
		}
	}
	if len(w.Input) == 0 {
		errs = append(errs, atOnce(all))
	}
	if i := slices.IndexFunc(all, func(p piece) bool { return p.kind != "system" }); i < 0 || all[i].kind != "user" {
		errs = append(errs, errors.New("it does not begin with a person"))
	}
	return errors.Join(errs...)
}

var wireName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// pairsRefused goes through calls and results: Google's may have no ids.
func pairsRefused(all []piece, unnamed bool) error {
	var errs []error
	calls, results := map[string]int{}, map[string]int{}
	for _, p := range all {
		switch p.kind {
		case "call":
			calls[p.id]++
			var arguments map[string]any
			if !wireName.MatchString(p.name) || json.Unmarshal([]byte(p.text), &arguments) != nil {
				errs = append(errs, fmt.Errorf("message %d: the call %q with %.60q", p.turn, p.name, p.text))
			}
			if !wireName.MatchString(p.id) && !(unnamed && p.id == "") {
				errs = append(errs, fmt.Errorf("message %d: the id %q", p.turn, p.id))
			}
		case "result":
			if results[p.id]++; calls[p.id] < results[p.id] {
				errs = append(errs, fmt.Errorf("message %d: a result of %q without a call", p.turn, p.id))
			}
		}
	}
	for id, n := range calls {
		if n != results[id] || n > 1 && id != "" {
			errs = append(errs, fmt.Errorf("%d calls %q with %d results", n, id, results[id]))
		}
	}
	return errors.Join(errs...)
}

// atOnce reports calls whose results do not follow in the next messages, before anything
// else is said.
func atOnce(all []piece) error {
	open := map[string]bool{}
	turn := -1
	for _, p := range all {
		switch {
		case p.kind == "call":
			open[p.id], turn = true, p.turn
		case p.kind == "result":
			delete(open, p.id)
		case len(open) > 0 && p.turn > turn:
			return fmt.Errorf("message %d: something is said before the results of message %d", p.turn, turn)
		}
	}
	return nil
}
