package cline

import (
	"bytes"
	"regexp"
	"sync"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/speaker"
)

// customAround is the CustomType of what an extension says of the editor and the
// directory with every message.
var customAround = []byte("cline.environment")

// answerStart begins what a tool gave in a task whose tools are called in text:
// "[read_file for 'a.txt'] Result:". It answers no call that has an id, so it is
// injected text and no result.
var answerStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[([a-z_]+)(?: for '[^\n]*'|[^\]\n]*)?\] Result:\s*`)
})

// taskText adds a block of text that stands in a person's name: what they typed,
// what a tool gave, or what the extension says of the editor.
func (d *decoder) taskText(m *session.Message, text []byte) {
	trimmed := bytes.TrimSpace(text)
	by := speaker.Of("cline", trimmed)
	if by != nil && by.Name == "environment" {
		d.closeAnswer()
		d.around = append(d.around, session.Part{Kind: session.PartText, Text: trimmed})
		return
	}
	if at := answerStart().FindSubmatchIndex(trimmed); at != nil {
		d.closeAnswer()
		d.answer = &session.Message{ID: d.id, Role: session.RoleInjected, CustomType: append([]byte("tool "), trimmed[at[2]:at[3]]...)}
		d.answer.AddText(trimmed[at[1]:])
		return
	}
	if typed, ok := by.Typed(trimmed); ok {
		d.closeAnswer()
		m.AddText(bytes.TrimSpace(typed))
		return
	}
	if d.answer != nil {
		d.answer.AddText(text)
		return
	}
	m.AddText(text)
}

// closeAnswer ends the result of a tool: what follows does not belong to it.
func (d *decoder) closeAnswer() {
	if d.answer == nil {
		return
	}
	d.messages, d.answer = append(d.messages, *d.answer), nil
}
