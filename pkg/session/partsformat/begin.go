package partsformat

import (
	"encoding/json"

	"github.com/sessctl/sessctl/pkg/session"
)

// Content is what a message says, as it is written.
type Content struct {
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one thing of a [Content].
type Part struct {
	Text     string    `json:"text,omitempty"`
	Call     *Call     `json:"functionCall,omitempty"`
	Response *Response `json:"functionResponse,omitempty"`
	Image    *Image    `json:"inlineData,omitempty"`
}

// Image is what is shown.
type Image struct {
	Media string `json:"mimeType"`
	Data  string `json:"data"` // base64
}

// Call is a call of a tool.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Response is the result of a call: "output", or "error".
type Response struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

// ContentOf is a message of a session that is begun.
func ContentOf(m session.CarriedMessage) Content {
	if m.Role == session.RoleToolResult {
		key := "output"
		if m.Failed {
			key = "error"
		}
		return Content{"user", []Part{{Response: &Response{m.CallID, m.ToolName, map[string]string{key: m.Text}}}}}
	}
	c := Content{Role: "user"}
	if m.Role == session.RoleAssistant {
		c.Role = "model"
	}
	if m.Text != "" {
		c.Parts = append(c.Parts, Part{Text: m.Text})
	}
	for _, image := range m.Images {
		c.Parts = append(c.Parts, Part{Image: &Image{image.Media, image.Base64}})
	}
	for _, call := range m.Calls {
		c.Parts = append(c.Parts, Part{Call: &Call{call.ID, call.Name, call.Arguments}})
	}
	return c
}
