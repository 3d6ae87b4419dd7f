package qwen

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/partsformat"
)

// triedVersion is the version of Qwen Code that has gone on with such logs.
const triedVersion = "0.24.4"

// PlanBegin implements [session.Beginner] (docs/dev/formats.md, "A session that is
// begun").
func (s *Store) PlanBegin(_ context.Context, c session.Carried) (session.Begun, error) {
	b := begun{id: session.NewID(), cwd: c.Directory, at: c.Now.UnixMilli()}
	if c.Summary != "" {
		summary := partsformat.Content{Role: "user", Parts: []partsformat.Part{{Text: c.Summary}}}
		b.add(begunRecord{Type: "system", Subtype: "chat_compression", Provenance: "system", Payload: compressedPayload{[]partsformat.Content{summary}}})
	}
	b.add(begunRecord{Type: "user", Provenance: "system", Message: &partsformat.Content{Role: "user", Parts: []partsformat.Part{{Text: c.Note}}}})
	var times session.Times
	for _, m := range c.Messages {
		b.at = times.At(m, c.Now)
		b.say(m)
	}
	if c.Title != "" {
		b.add(begunRecord{Type: "system", Subtype: "custom_title", Provenance: "system", Payload: map[string]string{"customTitle": c.Title, "titleSource": "manual"}})
	}
	if b.lines.Err != nil {
		return session.Begun{}, fmt.Errorf("begin a session of Qwen Code: %w", b.lines.Err)
	}
	return session.Begun{
		ID: b.id, Path: filepath.Join(s.Base, s.inside, session.FolderOf(c.Directory), chatsName, b.id+logEnd), Log: b.lines.Bytes(),
		Command: []string{"qwen", "--resume", b.id},
	}, nil
}

// tools are Qwen Code's names of the tools that others have too.
func tools() session.ToolNames {
	return session.ToolNames{
		Run: "run_shell_command", Read: "read_file", Write: "write_file", Edit: "edit",
		Command: "command", Path: "file_path", Old: "old_string", New: "new_string", Images: true, Tried: [2]string{triedVersion, triedVersion},
	}
}

// begun is a log while it is written.
type begun struct {
	id, cwd string
	at      int64
	parent  *string
	lines   session.Lines
}

// begunRecord is a record. Without sessionId and cwd Qwen Code does not start with it.
type begunRecord struct {
	ID         string               `json:"uuid"`
	Parent     *string              `json:"parentUuid"`
	Session    string               `json:"sessionId"`
	Timestamp  string               `json:"timestamp"`
	Type       string               `json:"type"`
	Subtype    string               `json:"subtype,omitempty"`
	Provenance string               `json:"provenance"`
	Cwd        string               `json:"cwd"`
	Version    string               `json:"version"`
	Model      string               `json:"model,omitempty"`
	Message    *partsformat.Content `json:"message,omitempty"`
	Result     *begunResult         `json:"toolCallResult,omitempty"`
	Payload    any                  `json:"systemPayload,omitempty"`
}

// begunResult is how a call ended, for the screen.
type begunResult struct {
	CallID  string `json:"callId"`
	Status  string `json:"status"`
	Display string `json:"resultDisplay"`
}

// compressedPayload stands for all that was before.
type compressedPayload struct {
	History []partsformat.Content `json:"compressedHistory"`
}

// add hangs a record on the one before.
func (b *begun) add(r begunRecord) {
	r.ID, r.Parent, r.Session, r.Timestamp = session.NewID(), b.parent, b.id, session.Stamp(b.at)
	r.Cwd, r.Version = b.cwd, triedVersion
	b.lines.Add(r)
	b.parent = &r.ID
}

// say writes a message.
func (b *begun) say(m session.CarriedMessage) {
	content := partsformat.ContentOf(m)
	switch m.Role {
	case session.RoleToolResult:
		result := begunResult{CallID: m.CallID, Status: "success", Display: m.Text}
		if m.Failed {
			result.Status = "error"
		}
		b.add(begunRecord{Type: "tool_result", Provenance: "tool_result", Message: &content, Result: &result})
	case session.RoleAssistant:
		b.add(begunRecord{Type: "assistant", Provenance: "assistant_output", Model: session.OriginMark, Message: &content})
	default:
		b.add(begunRecord{Type: "user", Provenance: "real_user", Message: &content})
	}
}
