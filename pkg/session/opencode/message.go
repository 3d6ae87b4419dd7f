package opencode

import (
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// spoken is a message with its parts.
type spoken struct {
	line, lastLine int
	offset, end    int64
	cut            int64
	id             []byte
	at             int64
	message        message
	parts          []part
}

// compaction reports whether the message asks for a compaction, and which
// message is the first that it keeps: "" for none.
func (s *spoken) compaction() (tail string, asked bool) {
	for i := range s.parts {
		if string(s.parts[i].kind) == "compaction" {
			return string(s.parts[i].tail), true
		}
	}
	return "", false
}

// messages are what it says: a person's text and what was put in for it, or an
// answer with the results of its calls, step by step. tails are the compactions
// that were asked for so far.
func (s *spoken) messages(tails map[string]string) []session.Message {
	switch string(s.message.role) {
	case "user":
		return s.user()
	case "assistant":
		if tail, asked := tails[string(s.message.parent)]; s.message.summary && asked && len(s.message.finish) > 0 && len(s.message.failure) == 0 {
			return []session.Message{s.summary(tail)}
		}
		return s.answer()
	}
	return nil
}

// user is what a person said, and what the runtime put in beside it: the text of
// files that were named, say.
func (s *spoken) user() (said []session.Message) {
	typed := session.Message{ID: s.id, Role: session.RoleUser, Model: s.message.model, Provider: s.message.provider}
	added := session.Message{ID: s.id, Role: session.RoleInjected, CustomType: []byte("synthetic")}
	hidden := session.Message{ID: s.id, Role: session.RoleInjected, CustomType: []byte("ignored"), OutOfContext: true}
	for i := range s.parts {
		p := &s.parts[i]
		text := session.Part{Kind: session.PartText, Text: p.text}
		switch kind := string(p.kind); {
		case kind == "text" && p.ignored:
			hidden.Parts = append(hidden.Parts, text)
		case kind == "text" && p.synthetic:
			added.Parts = append(added.Parts, text)
		case kind == "text":
			typed.Parts = append(typed.Parts, text)
		case kind == "subtask":
			added.Parts = append(added.Parts, session.Part{Kind: session.PartText, Text: p.prompt})
		case kind == "file" && p.binary():
			typed.Parts = append(typed.Parts, session.Part{Kind: session.PartImage, Size: int64(len(p.url)), Image: p.url})
		}
	}
	for _, m := range []session.Message{typed, added, hidden} {
		if len(m.Parts) > 0 {
			said = append(said, m)
		}
	}
	return said
}

// summary is the summary of a compaction.
func (s *spoken) summary(tail string) session.Message {
	m := session.Message{ID: s.id, Role: session.RoleSummary, Compaction: true, FirstKept: []byte(tail), Model: s.message.model, Provider: s.message.provider}
	for i := range s.parts {
		switch p := &s.parts[i]; string(p.kind) {
		case "text":
			m.Parts = append(m.Parts, session.Part{Kind: session.PartText, Text: p.text})
		case "reasoning":
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: p.text})
		}
	}
	return m
}

// answer is what the model said, step by step: each is a message, and the
// results of its calls follow it. What the model has counted is that of the last
// step. An answer that failed is not sent again; one that was broken off is, if
// there is anything in it.
func (s *spoken) answer() (said []session.Message) {
	step := s.step()
	var results []session.Message
	finish := func() {
		if len(step.Parts) > 0 {
			said = append(append(said, step), results...)
		}
		step, results = s.step(), nil
	}
	for i := range s.parts {
		p := &s.parts[i]
		switch string(p.kind) {
		case "step-start":
			finish()
		case "text":
			step.Parts = append(step.Parts, session.Part{Kind: session.PartText, Text: p.text})
		case "reasoning":
			step.Parts = append(step.Parts, session.Part{Kind: session.PartThinking, Text: p.text})
		case "file":
			step.Parts = append(step.Parts, session.Part{Kind: session.PartImage, Size: int64(len(p.url)), Image: p.url})
		case "tool":
			step.Parts = append(step.Parts, session.Part{Kind: session.PartToolCall, Name: p.tool, CallID: p.call, Text: p.state.input})
			if r, ok := p.result(); ok {
				r.Directory = s.message.cwd
				results = append(results, r)
			}
		}
	}
	finish()
	if len(said) == 0 && len(s.message.failure) > 0 {
		said = append(said, s.step())
	}
	s.settle(said)
	return said
}

func (s *spoken) step() session.Message {
	return session.Message{ID: s.id, Role: session.RoleAssistant, Model: s.message.model, Provider: s.message.provider, Directory: s.message.cwd}
}

// aborted is the error of an answer that a person broke off.
const aborted = "MessageAbortedError"

// settle gives the last step of an answer how it ended and what was counted.
func (s *spoken) settle(said []session.Message) {
	last := -1
	for i := range said {
		if said[i].Role == session.RoleAssistant {
			last = i
		}
	}
	if last < 0 {
		return
	}
	m := &said[last]
	m.StopReason = s.message.finish
	if failure := string(s.message.failure); failure != "" {
		m.StopReason, m.ErrorText = s.message.failure, s.message.reason
		for i := range said {
			if said[i].Role == session.RoleAssistant {
				said[i].IsError = failure != aborted || !s.spokeUp()
			}
		}
	}
	if u := s.message.usage; u.any() && !s.message.summary {
		m.HasUsage = true
		m.Usage = session.Usage{Input: u.input, Output: u.output + u.reasoning, CacheRead: u.cacheRead, CacheWrite: u.cacheWrite, Total: u.total}
	}
}

// spokeUp reports whether an answer that was broken off had come to say or do
// anything.
func (s *spoken) spokeUp() bool {
	return slices.ContainsFunc(s.parts, func(p part) bool {
		kind := string(p.kind)
		return kind != "step-start" && kind != "reasoning"
	})
}

// What the runtime sends in the place of an output.
const clearedOutput = "[Old tool result content cleared]"

// result is the result of a call, as it is sent. A call that still runs has
// none.
func (p *part) result() (session.Message, bool) {
	m := session.Message{ID: p.id, Role: session.RoleToolResult, ToolName: p.tool, CallID: p.call, Details: p.state.metadata}
	if p.state.hasExit {
		m.ExitCode, m.HasExit = int(p.state.exit), true
	}
	add := func(kind session.PartKind, text []byte) {
		m.Parts = append(m.Parts, session.Part{Kind: kind, Text: text})
	}
	switch string(p.state.status) {
	case "completed":
		if p.state.cleared {
			add(session.PartText, []byte(clearedOutput))
			add(session.PartUnsent, p.state.output)
		} else {
			add(session.PartText, p.state.output)
		}
		m.Parts = append(m.Parts, p.state.attached...)
	case "error":
		m.IsError = true
		add(session.PartText, p.state.failure)
	default:
		return m, false
	}
	return m, true
}
