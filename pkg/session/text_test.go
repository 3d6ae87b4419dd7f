package session

import "testing"

func textPart(s string) Part    { return Part{Kind: PartText, Text: []byte(s)} }
func callPart(n, a string) Part { return Part{Kind: PartToolCall, Name: []byte(n), Text: []byte(a)} }

func TestMessageText(t *testing.T) {
	thinking := Part{Kind: PartThinking, Text: []byte("hidden")}
	image := Part{Kind: PartImage, Size: 100}
	command := Part{Kind: PartCommand, Text: []byte("go test ./...")}
	for name, c := range map[string]struct {
		m          Message
		text       string
		label      string
		embeddable bool
	}{
		"user":             {Message{Role: RoleUser, Parts: []Part{textPart("Why?")}}, "Why?", "[Human]", true},
		"several texts":    {Message{Role: RoleUser, Parts: []Part{textPart("a"), textPart(""), image, textPart("b")}}, "a\nb", "[Human]", true},
		"white space":      {Message{Role: RoleUser, Parts: []Part{textPart("\n  a \n\n b\t\n")}}, "a \n\n b", "[Human]", true},
		"only white space": {Message{Role: RoleUser, Parts: []Part{textPart(" \n"), textPart("\t")}}, "", "[Human]", false},
		"nothing":          {Message{Role: RoleUser}, "", "[Human]", false},
		"only an image":    {Message{Role: RoleUser, Parts: []Part{image}}, "", "[Human]", false},
		"answer": {
			Message{Role: RoleAssistant, Parts: []Part{thinking, textPart("Let me look."), callPart("read", `{"path":"x y"}`), callPart("ls", "")}},
			"Let me look.\n[tool call] read {\"path\":\"x y\"}\n[tool call] ls", "[Agent]", true,
		},
		"only a call": {Message{Role: RoleAssistant, Parts: []Part{callPart("read", `{}`)}}, "[tool call] read {}", "[Agent]", true},
		"odd arguments": {
			Message{Role: RoleAssistant, Parts: []Part{callPart("a\nb", "{\r\n 1}")}}, `[tool call] a\nb {\r\n 1}`, "[Agent]", true,
		},
		"only thinking": {Message{Role: RoleAssistant, Parts: []Part{thinking}}, "", "[Agent]", false},
		"silence":       {Message{Role: RoleAssistant, Parts: []Part{textPart("NO_REPLY\n")}}, "NO_REPLY", "[Agent]", false},
		"heartbeat":     {Message{Role: RoleAssistant, Parts: []Part{thinking, textPart("HEARTBEAT_OK")}}, "HEARTBEAT_OK", "[Agent]", false},
		"silence and a call": {
			Message{Role: RoleAssistant, Parts: []Part{textPart("NO_REPLY"), callPart("x", "{}")}}, "NO_REPLY\n[tool call] x {}", "[Agent]", true,
		},
		"silence by a person": {Message{Role: RoleUser, Parts: []Part{textPart("NO_REPLY")}}, "NO_REPLY", "[Human]", true},
		"tool result":         {Message{Role: RoleToolResult, Parts: []Part{textPart("./a\n./b")}, HasExit: true, ExitCode: 1}, "./a\n./b", "[Tool]", true},
		"shell": {
			Message{Role: RoleShell, Parts: []Part{command, textPart("FAIL\n")}, HasExit: true, ExitCode: 1},
			"$ go test ./...\nFAIL\n\n[exit code 1]", "[Shell]", true,
		},
		"shell without output": {Message{Role: RoleShell, Parts: []Part{command}}, "$ go test ./...", "[Shell]", true},
		"summary":              {Message{Role: RoleSummary, Parts: []Part{textPart("## Goal")}}, "## Goal", "[Summary]", true},
		"system":               {Message{Role: RoleSystem, Parts: []Part{textPart("x")}}, "x", "[System]", true},
		"delivered for the agent": {
			Message{Role: RoleInjected, Provider: []byte("openclaw"), Parts: []Part{textPart("build finished")}}, "build finished", "[Agent]", true,
		},
		"extension": {
			Message{Role: RoleInjected, CustomType: []byte("ci"), Parts: []Part{textPart("CI is red")}}, "CI is red", "[Custom]", true,
		},
		"context block": {
			Message{Role: RoleInjected, CustomType: []byte("openclaw.runtime-context"), Parts: []Part{textPart("x")}}, "x", "[Custom]", false,
		},
		"yield": {
			Message{Role: RoleInjected, CustomType: []byte("openclaw.sessions_yield"), Parts: []Part{textPart("x")}}, "x", "[Custom]", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(c.m.AppendText([]byte(" before "))); got != " before "+c.text {
				t.Errorf("text is %q, want %q", got, " before "+c.text)
			}
			if got := c.m.Label(); got != c.label {
				t.Errorf("label is %s, want %s", got, c.label)
			}
			if got := c.m.Embeddable(); got != c.embeddable {
				t.Errorf("embeddable is %v, want %v", got, c.embeddable)
			}
		})
	}
}

func TestMessageTextDoesNotAllocate(t *testing.T) {
	m := &Message{Role: RoleAssistant, CustomType: []byte("ci"), Parts: []Part{textPart(" some text "), callPart("read", `{"path":"x"}`)}}
	dst := make([]byte, 0, 1000)
	if n := testing.AllocsPerRun(10, func() {
		dst = m.AppendText(dst[:0])
		m.Embeddable()
		m.Role = RoleInjected
		m.Embeddable()
		m.EstimateTokens()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
