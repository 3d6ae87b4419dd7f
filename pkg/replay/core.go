package replay

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// unchanged returns the core message of the log that the first n messages are,
// if they are all of it and nobody has changed them; 0 if not. A runtime's own
// message has more than a rebuilt one (ids, the order of its parts).
func unchanged(messages []Message) (raw json.RawMessage, n int) {
	first := messages[0]
	if first.core == "" || !utf8.ValidString(first.core) {
		return nil, 0
	}
	n = 1
	for first.Role == Tool && n < len(messages) && messages[n].Role == Tool {
		if messages[n].core != first.core {
			return nil, 0 // results of one call in several messages
		}
		n++
	}
	if parts, ok := coreParts(first.core, first.Role); !ok || first.Role == Tool && parts != n {
		return nil, 0
	}
	return json.RawMessage(first.core), n
}

// coreParts counts the parts of a core message; false if it is none that the
// SDK takes.
func coreParts(raw string, role Role) (n int, ok bool) {
	var m struct {
		Role    Role            `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal([]byte(raw), &m) != nil || m.Role != role {
		return 0, false
	}
	var said string
	if json.Unmarshal(m.Content, &said) == nil {
		return 1, strings.TrimSpace(said) != "" && role != Tool
	}
	var parts []corePart
	if json.Unmarshal(m.Content, &parts) != nil {
		return 0, false
	}
	for _, p := range parts {
		if !p.fits(role) {
			return 0, false
		}
	}
	return len(parts), len(parts) > 0
}

// corePart is what the SDK insists on of a part.
type corePart struct {
	Type   string                     `json:"type"`
	Text   string                     `json:"text"`
	ID     string                     `json:"toolCallId"`
	Name   string                     `json:"toolName"`
	Args   map[string]json.RawMessage `json:"args"`
	Result json.RawMessage            `json:"result"`
}

func (p corePart) fits(role Role) bool {
	switch p.Type {
	case "text":
		return role != Tool && strings.TrimSpace(p.Text) != ""
	case "image", "file":
		return role == User
	case "tool-call":
		return role == Assistant && p.ID != "" && p.Name != "" && p.Args != nil
	case "tool-result":
		return role == Tool && p.ID != "" && p.Name != "" && p.Result != nil
	}
	return false
}
