package smallpackages_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/sessctl/sessctl/pkg/replay"
)

// The rules of the providers, checked on what is written and not on what it
// was made from.

func validate(f replay.Format, text []byte) error {
	switch f {
	case replay.OpenAI:
		return validOpenAI(text)
	case replay.Anthropic:
		return validAnthropic(text)
	}
	return validAISDK(text)
}

// pairing follows calls and results: every call is answered before anything
// else is said, and only calls are answered.
type pairing struct{ open map[string]bool }

func (p *pairing) call(id string) error {
	if id == "" || p.open[id] {
		return fmt.Errorf("call %q has no id of its own", id)
	}
	if p.open == nil {
		p.open = map[string]bool{}
	}
	p.open[id] = true
	return nil
}

func (p *pairing) result(id string) error {
	if !p.open[id] {
		return fmt.Errorf("result of %q, which is not open", id)
	}
	delete(p.open, id)
	return nil
}

func (p *pairing) other() error {
	if len(p.open) > 0 {
		return fmt.Errorf("calls without a result: %v", p.open)
	}
	return nil
}

func validOpenAI(text []byte) error {
	var all []struct {
		Role      string
		Content   *string
		CallID    string `json:"tool_call_id"`
		ToolCalls []struct {
			ID, Type string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	var p pairing
	for i, m := range all {
		if m.Role == "tool" {
			if err := p.result(m.CallID); err != nil || m.Content == nil {
				return fmt.Errorf("message %d: %v", i, err)
			}
			continue
		}
		if err := p.other(); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if m.Content == nil && len(m.ToolCalls) == 0 || m.Content != nil && strings.TrimSpace(*m.Content) == "" {
			return fmt.Errorf("message %d says nothing", i)
		}
		if m.Role != "assistant" && (len(m.ToolCalls) > 0 || m.Role != "user" && m.Role != "system") {
			return fmt.Errorf("message %d: role %s with %d calls", i, m.Role, len(m.ToolCalls))
		}
		for _, c := range m.ToolCalls {
			if err := p.call(c.ID); err != nil || c.Type != "function" || !validName.MatchString(c.Function.Name) {
				return fmt.Errorf("message %d: call %+v: %v", i, c, err)
			}
		}
	}
	return p.other()
}

var (
	validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	validUse  = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

func validAnthropic(text []byte) error {
	var all []struct {
		Role    string
		Content []struct {
			Type, Text, ID, Name string
			UseID                string `json:"tool_use_id"`
			Input                map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	var p pairing
	role := "assistant"
	for i, m := range all {
		if m.Role == role || len(m.Content) == 0 || m.Role != "user" && m.Role != "assistant" {
			return fmt.Errorf("message %d: %s after %s, %d blocks", i, m.Role, role, len(m.Content))
		}
		role = m.Role
		talked := false
		for _, b := range m.Content {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					return fmt.Errorf("message %d has an empty text", i)
				}
				if err := p.other(); err != nil && m.Role == "user" {
					return fmt.Errorf("message %d: text before the results: %w", i, err)
				}
				talked = true
			case "tool_use":
				if err := p.call(b.ID); err != nil || m.Role != "assistant" || b.Input == nil || !validUse.MatchString(b.ID) || !validName.MatchString(b.Name) {
					return fmt.Errorf("message %d: call %+v: %v", i, b, err)
				}
			case "tool_result":
				if err := p.result(b.UseID); err != nil || m.Role != "user" || talked {
					return fmt.Errorf("message %d: result of %s: %v", i, b.UseID, err)
				}
			}
		}
		if m.Role == "user" {
			if err := p.other(); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
		}
	}
	return p.other()
}

func validAISDK(text []byte) error {
	var all []struct {
		Role    string
		Content json.RawMessage
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	var p pairing
	for i, m := range all {
		var said string
		if json.Unmarshal(m.Content, &said) == nil {
			if err := p.other(); err != nil || strings.TrimSpace(said) == "" || m.Role == "tool" {
				return fmt.Errorf("message %d (%s): %v", i, m.Role, err)
			}
			continue
		}
		var parts []struct {
			Type, Text, ToolCallID, ToolName string
			Args                             map[string]json.RawMessage
			Result                           json.RawMessage
		}
		if err := json.Unmarshal(m.Content, &parts); err != nil || len(parts) == 0 {
			return fmt.Errorf("message %d: %v", i, err)
		}
		if m.Role != "tool" {
			if err := p.other(); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
		}
		for _, part := range parts {
			var err error
			switch {
			case m.Role == "tool" && part.Type == "tool-result" && part.Result != nil && part.ToolName != "":
				err = p.result(part.ToolCallID)
			case m.Role == "assistant" && part.Type == "tool-call" && part.Args != nil:
				err = p.call(part.ToolCallID)
			case m.Role != "tool" && part.Type == "text" && part.Text != "":
			default:
				err = fmt.Errorf("part %+v", part)
			}
			if err != nil {
				return fmt.Errorf("message %d (%s): %w", i, m.Role, err)
			}
		}
	}
	return p.other()
}
