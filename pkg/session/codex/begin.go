package codex

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/session"
)

// triedVersion is the version of Codex that has gone on with such logs.
const triedVersion = "0.171.0"

// PlanBegin implements [session.Beginner]. What the model is sent are items; what a
// person sees, and that the thread is listed, are events: both are written
// (docs/dev/formats.md, "A session that is begun").
func (s *Store) PlanBegin(_ context.Context, c session.Carried) (session.Begun, error) {
	b := begun{c: c, at: c.Now.UnixMilli()}
	id, now := session.OrderedID(c.Now), session.Stamp(b.at)
	b.add("session_meta", metaRecord{id, now, c.Directory, "codex_cli_rs", triedVersion, "cli"})
	if c.Summary != "" {
		b.add("compacted", compactedRecord{c.Summary, []begunItem{textItem("user", c.Summary)}})
	}
	b.add("response_item", textItem("developer", c.Note))
	var times session.Times
	for _, m := range c.Messages {
		b.at = times.At(m, c.Now)
		b.say(m)
	}
	if b.lines.Err != nil {
		return session.Begun{}, fmt.Errorf("begin a thread of Codex: %w", b.lines.Err)
	}
	day, clock := c.Now.Format("2006/01/02"), c.Now.Format("2006-01-02T15-04-05")
	return session.Begun{
		ID: id, Path: filepath.Join(s.Base, sessionsName, filepath.FromSlash(day), "rollout-"+clock+"-"+id+plainEnd), Log: b.lines.Bytes(),
		Command: []string{"codex", "resume", id},
	}, nil
}

// longestResult is how many characters of a result Codex sends when it resumes, less
// some room: 12,000 were measured.
const longestResult = 11_000

// tools are Codex's names of the tools that others have too.
func tools() session.ToolNames {
	return session.ToolNames{Run: "exec_command", Command: "cmd", Longest: longestResult, Images: true, ResultImages: true, Tried: [2]string{"0.169.0", triedVersion}}
}

// begun is a rollout while it is written.
type begun struct {
	c     session.Carried
	at    int64
	lines session.Lines
}

// metaRecord begins a rollout. It names no provider: another one than the user's is
// refused.
type metaRecord struct {
	ID         string `json:"id"`
	Timestamp  string `json:"timestamp"`
	Cwd        string `json:"cwd"`
	Originator string `json:"originator"`
	Version    string `json:"cli_version"`
	Source     string `json:"source"`
}

type compactedRecord struct {
	Message string      `json:"message"`
	History []begunItem `json:"replacement_history"`
}

// item is what the model is sent.
type begunItem struct {
	Type      string     `json:"type"`
	Role      string     `json:"role,omitempty"`
	Content   []itemText `json:"content,omitempty"`
	Name      string     `json:"name,omitempty"`
	Arguments string     `json:"arguments,omitempty"`
	CallID    string     `json:"call_id,omitempty"`
	Output    any        `json:"output,omitempty"` // text, or a list as of Content
}

type itemText struct {
	Type  string  `json:"type"`
	Text  *string `json:"text,omitempty"`
	Image string  `json:"image_url,omitempty"`
}

// shownEvent is what a person sees of a message.
type shownEvent struct {
	Type     string   `json:"type"`
	Message  string   `json:"message"`
	Images   []string `json:"images,omitzero"`
	Local    []string `json:"local_images,omitzero"`
	Elements []string `json:"text_elements,omitzero"`
}

func textItem(role, text string) begunItem {
	kind := "input_text"
	if role == "assistant" {
		kind = "output_text"
	}
	return begunItem{Type: "message", Role: role, Content: []itemText{{Type: kind, Text: &text}}}
}

// shownIn is what a person or a tool says and shows.
func shownIn(text string, images []session.Picture) (list []itemText) {
	if text != "" || len(images) == 0 {
		list = append(list, itemText{Type: "input_text", Text: &text})
	}
	for _, image := range images {
		list = append(list, itemText{Type: "input_image", Image: image.URL()})
	}
	return list
}

func (b *begun) add(kind string, payload any) {
	b.lines.Add(struct {
		Timestamp string `json:"timestamp"`
		Type      string `json:"type"`
		Payload   any    `json:"payload"`
	}{session.Stamp(b.at), kind, payload})
}

// say writes a message, and the event that shows it. Codex has no mark for a result
// that failed: its text says so.
func (b *begun) say(m session.CarriedMessage) {
	switch m.Role {
	case session.RoleToolResult:
		text := m.Text
		if m.Failed {
			text = "[failed]\n" + text
		}
		item := begunItem{Type: "function_call_output", CallID: m.CallID, Output: text}
		if len(m.Images) > 0 {
			item.Output = shownIn(text, m.Images)
		}
		b.add("response_item", item)
	case session.RoleAssistant:
		b.answer(m)
	default:
		none, shown := []string{}, []string{}
		for _, image := range m.Images {
			shown = append(shown, image.URL())
		}
		b.add("response_item", begunItem{Type: "message", Role: "user", Content: shownIn(m.Text, m.Images)})
		b.add("event_msg", shownEvent{Type: "user_message", Message: m.Text, Images: shown, Local: none, Elements: none})
	}
}

func (b *begun) answer(m session.CarriedMessage) {
	if m.Text != "" {
		b.add("response_item", textItem("assistant", m.Text))
		b.add("event_msg", shownEvent{Type: "agent_message", Message: m.Text})
	}
	for _, c := range m.Calls {
		b.add("response_item", begunItem{Type: "function_call", Name: c.Name, Arguments: string(c.Arguments), CallID: c.ID})
	}
}
