package codex

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/session"
)

// event settles what an event_msg is. Most events are for the screen and tell
// what an item tells too.
func (d *decoder) event() kind {
	i, m := &d.record.item, &d.message
	switch string(i.kind) {
	case "user_message":
		m.Role = session.RoleUser
		d.content(i.message)
		return shown
	case "agent_message":
		m.Role = session.RoleAssistant
		d.content(i.message)
		return shown
	case "item_completed":
		return d.completedItem()
	case "token_count":
		return tokenCount
	case "thread_rolled_back":
		return rollback
	case "task_started", "turn_started":
		return turnStart
	case "task_complete", "turn_complete", "turn_aborted", "error":
		return turnEnd
	}
	return bookkeeping
}

// completedItem makes the message of an item_completed event. Only what is
// said is taken: calls and results are items of the context as well.
func (d *decoder) completedItem() kind {
	raw := d.record.item.inner
	var inner item
	d.payload.Reset(raw)
	if !d.payload.EnterObject() {
		return bookkeeping
	}
	for d.payload.NextKey() {
		inner.member(&d.payload)
	}
	m := &d.message
	switch string(inner.kind) {
	case "UserMessage":
		m.Role = session.RoleUser
	case "AgentMessage":
		m.Role = session.RoleAssistant
	default:
		return bookkeeping
	}
	m.ID = inner.id
	d.content(inner.content)
	return completed
}

// ownPrefix begins the names of what Codex itself puts in front of the model.
const ownPrefix = "codex."

// typed tells what a person typed from what Codex says in the person's name.
// Since 0.169 an item says where its content comes from; before, only the text
// shows it.
func (d *decoder) typed() {
	m := &d.message
	m.Role = session.RoleUser
	origin, known := d.origin()
	if origin == nil && !known {
		origin = contextOf(firstText(m))
	}
	switch {
	case origin == nil:
	case string(origin) == shellTag:
		d.shell()
	default:
		m.Role, m.CustomType = session.RoleInjected, append([]byte(ownPrefix), origin...)
	}
}

// origin reads content_item_kinds: nil and known if a part of the content is
// the person's.
func (d *decoder) origin() (origin []byte, known bool) {
	d.strings(d.record.item.origin, "content_item_kinds", func(kind []byte) {
		switch {
		case bytes.HasPrefix(kind, []byte("user.")):
			origin, known = nil, true
		case !known && origin == nil && string(kind) != "unknown":
			origin = kind
		}
	})
	return origin, known
}

// strings hands each string of a list inside an object to yield.
func (d *decoder) strings(object []byte, key string, yield func([]byte)) {
	c := &d.deep
	c.Reset(object)
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		if string(c.Key()) != key || !c.EnterArray() {
			continue
		}
		for c.NextElement() {
			if text, ok := c.Bytes(); ok {
				yield(text)
			}
		}
	}
}

func firstText(m *session.Message) []byte {
	for i := range m.Parts {
		if m.Parts[i].Kind == session.PartText {
			return m.Parts[i].Text
		}
	}
	return nil
}

// shellTag marks a command that the person ran by hand.
const shellTag = "user_shell_command"

// contextTags begin the texts that Codex puts in front of the model in the
// person's name.
var contextTags = []string{
	"environment_context", "user_instructions", "permissions instructions", "collaboration_mode", "apps_instructions",
	"plugins_instructions", "skills_instructions", "skill", "turn_aborted", "subagent_notification", "model_switch",
	"personality_spec", "recommended_plugins", "INSTRUCTIONS", shellTag,
}

// contextOf names the kind of a text that Codex put there; nil for any other.
func contextOf(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if bytes.HasPrefix(text, []byte("# AGENTS.md instructions")) {
		return []byte("agents_md")
	}
	if len(text) == 0 || text[0] != '<' {
		return nil
	}
	for _, tag := range contextTags {
		if rest, ok := bytes.CutPrefix(text[1:], []byte(tag)); ok && len(rest) > 0 && rest[0] == '>' {
			return []byte(tag)
		}
	}
	return nil
}

// shell takes a command and its output out of their tags.
func (d *decoder) shell() {
	m := &d.message
	text := firstText(m)
	m.Role = session.RoleShell
	command, rest, ok := between(text, "<command>", "</command>")
	if !ok {
		return
	}
	m.Parts = append(m.Parts[:0], session.Part{Kind: session.PartCommand, Text: command})
	result, _, ok := between(rest, "<result>", "</result>")
	if !ok {
		return
	}
	m.ExitCode, m.HasExit = exitOf(result)
	m.IsError = m.HasExit && m.ExitCode != 0
	d.addText(result)
}

func between(text []byte, open, end string) (inside, rest []byte, ok bool) {
	_, text, opened := bytes.Cut(text, []byte(open))
	inside, rest, closed := bytes.Cut(text, []byte(end))
	return bytes.TrimSpace(inside), rest, opened && closed
}
