package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// triedVersion is the version of Claude Code that has gone on with such logs.
const triedVersion = "2.1.332"

// PlanBegin implements [session.Beginner] (docs/dev/formats.md, "A session that is
// begun").
func (s *Store) PlanBegin(_ context.Context, c session.Carried) (session.Begun, error) {
	b := begun{id: session.NewID(), c: c, at: c.Now.UnixMilli()}
	if c.Summary != "" {
		b.add(&begunRecord{Type: "system", Subtype: "compact_boundary", Content: "Conversation compacted", Level: "info", Compact: &compactMetadata{Trigger: "manual"}})
		b.add(&begunRecord{Type: "user", Message: &begunMessage{Role: "user", Content: c.Summary}, Summary: true, Transcript: true})
	}
	b.add(&begunRecord{Type: "user", Message: &begunMessage{Role: "user", Content: c.Note}, Meta: true})
	var times session.Times
	for _, m := range c.Messages {
		b.at = times.At(m, c.Now)
		b.say(m)
	}
	if c.Title != "" {
		b.lines.Add(map[string]string{"type": "custom-title", "customTitle": c.Title, "sessionId": b.id})
	}
	if b.lines.Err != nil {
		return session.Begun{}, fmt.Errorf("begin a session of Claude Code: %w", b.lines.Err)
	}
	return session.Begun{
		ID: b.id, Path: filepath.Join(s.Base, session.FolderOf(c.Directory), b.id+logEnd), Log: b.lines.Bytes(),
		Command: []string{"claude", "--resume", b.id},
	}, nil
}

// tools are Claude Code's names of the tools that others have too.
func tools() session.ToolNames {
	return session.ToolNames{
		Run: "Bash", Read: "Read", Write: "Write", Edit: "Edit", Trusts: true, Images: true, ResultImages: true, Tried: [2]string{"2.1.330", triedVersion},
		Command: "command", Path: "file_path", Old: "old_string", New: "new_string",
	}
}

// begun is a log while it is written.
type begun struct {
	id     string
	c      session.Carried
	at     int64
	parent *string
	lines  session.Lines
}

// begunRecord is a record. Without parentUuid and uuid Claude Code sends one message
// of all, and says nothing.
type begunRecord struct {
	Parent     *string          `json:"parentUuid"`
	Sidechain  bool             `json:"isSidechain"`
	Type       string           `json:"type"`
	Subtype    string           `json:"subtype,omitempty"`
	Content    string           `json:"content,omitempty"`
	Level      string           `json:"level,omitempty"`
	Compact    *compactMetadata `json:"compactMetadata,omitempty"`
	Message    *begunMessage    `json:"message,omitempty"`
	Meta       bool             `json:"isMeta,omitempty"`
	Summary    bool             `json:"isCompactSummary,omitempty"`
	Transcript bool             `json:"isVisibleInTranscriptOnly,omitempty"`
	ID         string           `json:"uuid"`
	Timestamp  string           `json:"timestamp"`
	UserType   string           `json:"userType"`
	Entrypoint string           `json:"entrypoint"`
	Cwd        string           `json:"cwd"`
	Session    string           `json:"sessionId"`
	Version    string           `json:"version"`
	Branch     string           `json:"gitBranch"`
}

type compactMetadata struct {
	Trigger   string `json:"trigger"`
	PreTokens int    `json:"preTokens"`
}

// begunMessage is what a record sends: text, or blocks.
type begunMessage struct {
	ID         string      `json:"id,omitempty"`
	Type       string      `json:"type,omitempty"`
	Role       string      `json:"role"`
	Model      string      `json:"model,omitempty"`
	Content    any         `json:"content"`
	StopReason string      `json:"stop_reason,omitempty"`
	Usage      *begunUsage `json:"usage,omitempty"`
}

// begunUsage is of a call of a model that never was.
type begunUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

type begunBlock struct {
	Type    string          `json:"type"`
	Text    string          `json:"text,omitempty"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	CallID  string          `json:"tool_use_id,omitempty"`
	Content any             `json:"content,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
	Source  *begunSource    `json:"source,omitempty"`
}

// begunSource is what an image shows.
type begunSource struct {
	Type  string `json:"type"`
	Media string `json:"media_type"`
	Data  string `json:"data"`
}

// shownIn is what a message says with its images, as blocks; only the text if there are
// none.
func shownIn(m session.CarriedMessage) any {
	if len(m.Images) == 0 {
		return m.Text
	}
	var blocks []begunBlock
	if m.Text != "" {
		blocks = append(blocks, begunBlock{Type: "text", Text: m.Text})
	}
	for _, image := range m.Images {
		blocks = append(blocks, begunBlock{Type: "image", Source: &begunSource{"base64", image.Media, image.Base64}})
	}
	return blocks
}

// add hangs a record on the one before; the first and a boundary begin a tree.
func (b *begun) add(r *begunRecord) {
	r.ID, r.Parent, r.Timestamp = session.NewID(), b.parent, session.Stamp(b.at)
	r.UserType, r.Entrypoint, r.Cwd, r.Session, r.Version = "external", "cli", b.c.Directory, b.id, triedVersion
	b.lines.Add(r)
	b.parent = &r.ID
}

// say writes a message: an answer as one record for each block, as Claude Code does.
func (b *begun) say(m session.CarriedMessage) {
	switch m.Role {
	case session.RoleToolResult:
		b.add(&begunRecord{Type: "user", Message: &begunMessage{Role: "user", Content: []begunBlock{{Type: "tool_result", CallID: m.CallID, Content: shownIn(m), IsError: m.Failed}}}})
	case session.RoleAssistant:
		b.answer(m)
	default:
		b.add(&begunRecord{Type: "user", Message: &begunMessage{Role: "user", Content: shownIn(m)}})
	}
}

func (b *begun) answer(m session.CarriedMessage) {
	var blocks []begunBlock
	if m.Text != "" {
		blocks = append(blocks, begunBlock{Type: "text", Text: m.Text})
	}
	ends := "end_turn"
	for _, c := range m.Calls {
		blocks, ends = append(blocks, begunBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Arguments}), "tool_use"
	}
	reply := "msg_" + session.OrderedID(time.UnixMilli(b.at))
	for _, block := range blocks {
		b.add(&begunRecord{Type: "assistant", Message: &begunMessage{
			ID: reply, Type: "message", Role: "assistant", Model: session.OriginMark,
			Content: []begunBlock{block}, StopReason: ends, Usage: &begunUsage{},
		}})
	}
}
