package piformat

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"github.com/sessctl/sessctl/pkg/session"
)

// Begin is the log of a session that begins with what was said elsewhere
// (docs/dev/formats.md, "A session that is begun").
func Begin(id string, c session.Carried) ([]byte, error) {
	b := begun{now: c.Now.UnixMilli()}
	b.lines.Add(headRecord{"session", 3, id, session.Stamp(b.now), c.Directory})
	if c.Title != "" {
		b.add(&record{Type: "session_info", Name: c.Title})
	}
	if c.Summary != "" {
		b.add(&record{Type: "compaction", Summary: c.Summary, TokensBefore: new(int)})
	}
	b.add(&record{Type: "custom_message", CustomType: session.OriginMark, Content: c.Note, Display: true})
	var times session.Times
	for _, m := range c.Messages {
		b.at = times.At(m, c.Now)
		b.add(&record{Type: "message", Message: spokenOf(m, b.at)})
	}
	return b.lines.Bytes(), b.lines.Err
}

// begun is a log while it is written.
type begun struct {
	lines  session.Lines
	parent *string
	now    int64
	at     int64 // of the record, 0 before the first message
}

// headRecord begins a log.
type headRecord struct {
	Type      string `json:"type"`
	Version   int    `json:"version"`
	ID        string `json:"id"`
	Timestamp string `json:"timestamp"`
	Cwd       string `json:"cwd"`
}

// record is any other record.
type record struct {
	Type         string  `json:"type"`
	ID           string  `json:"id"`
	ParentID     *string `json:"parentId"`
	Timestamp    string  `json:"timestamp"`
	Name         string  `json:"name,omitempty"`
	CustomType   string  `json:"customType,omitempty"`
	Content      string  `json:"content,omitempty"`
	Display      bool    `json:"display,omitempty"`
	Summary      string  `json:"summary,omitempty"`
	FirstKept    string  `json:"firstKeptEntryId,omitempty"`
	TokensBefore *int    `json:"tokensBefore,omitempty"`
	Message      *spoken `json:"message,omitempty"`
}

// spoken is a message. pi does not start without the usage of an answer.
type spoken struct {
	Role       string    `json:"role"`
	CallID     string    `json:"toolCallId,omitempty"`
	ToolName   string    `json:"toolName,omitempty"`
	Content    []content `json:"content"`
	IsError    *bool     `json:"isError,omitempty"`
	API        string    `json:"api,omitempty"`
	Provider   string    `json:"provider,omitempty"`
	Model      string    `json:"model,omitempty"`
	Usage      *noUsage  `json:"usage,omitempty"`
	StopReason string    `json:"stopReason,omitempty"`
	Timestamp  int64     `json:"timestamp"`
}

// content is a block.
type content struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Data      string          `json:"data,omitempty"`
	MimeType  string          `json:"mimeType,omitempty"`
}

// counts are those of a call of a model that never was.
type counts struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
}

type noUsage struct {
	counts
	TotalTokens int       `json:"totalTokens"`
	Cost        totalCost `json:"cost"`
}

type totalCost struct {
	counts
	Total int `json:"total"`
}

// add hangs a record on the one before. A compaction keeps nothing of before: the first
// that it kept is itself.
func (b *begun) add(r *record) {
	var id [4]byte
	rand.Read(id[:]) // never fails, by its documentation
	r.ID, r.ParentID = hex.EncodeToString(id[:]), b.parent
	if r.Timestamp = session.Stamp(b.now); b.at > 0 {
		r.Timestamp = session.Stamp(b.at)
	}
	if r.Type == "compaction" {
		r.FirstKept = r.ID
	}
	b.lines.Add(r)
	b.parent = &r.ID
}

func spokenOf(m session.CarriedMessage, at int64) *spoken {
	x := &spoken{Role: "user", Timestamp: at, Content: []content{}}
	if m.Text != "" {
		x.Content = append(x.Content, content{Type: "text", Text: m.Text})
	}
	for _, image := range m.Images {
		x.Content = append(x.Content, content{Type: "image", Data: image.Base64, MimeType: image.Media})
	}
	switch m.Role {
	case session.RoleToolResult:
		x.Role, x.CallID, x.ToolName, x.IsError = "toolResult", m.CallID, m.ToolName, &m.Failed
	case session.RoleAssistant:
		x.Role, x.API, x.Provider, x.Model = "assistant", session.OriginMark, session.OriginMark, session.OriginMark
		x.Usage, x.StopReason = &noUsage{}, "stop"
		for _, call := range m.Calls {
			x.Content = append(x.Content, content{Type: "toolCall", ID: call.ID, Name: call.Name, Arguments: call.Arguments})
			x.StopReason = "toolUse"
		}
	}
	return x
}
