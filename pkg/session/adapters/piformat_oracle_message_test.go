package adapters_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

func (m *piformatSaid) readBody(o piformatObject, thinking bool) {
	m.CallID, m.ToolName = o.name("toolCallId"), o.text("toolName")
	m.IsError, m.OutOfContext = o.flag("isError"), o.flag("excludeFromContext")
	m.StopReason, m.Error = o.text("stopReason"), o.text("errorMessage")
	m.Provider, m.Model, m.Custom = o.text("provider"), o.text("model"), o.text("customType")
	if u := piformatObjectOf(o["usage"]); u != nil {
		m.Usage = usageText(u.tokens("input"), u.tokens("output"), u.tokens("cacheRead"), u.tokens("cacheWrite"), u.tokens("totalTokens"))
	}
	for _, holder := range []piformatObject{o, piformatObjectOf(o["details"])} {
		if code, ok := holder.integer("exitCode"); ok && m.Exit == "" {
			m.Exit = strconv.FormatInt(code, 10)
		}
	}
	m.readContent(o["content"], thinking)
	switch role := o.text("role"); role {
	case "user", "system":
		m.Role = role
	case "assistant":
		m.Role, m.IsError = role, m.StopReason == "error"
		if m.Provider == "openclaw" && (m.Model == "delivery-mirror" || m.Model == "gateway-injected") {
			m.Role = "injected"
		}
	case "toolResult":
		m.Role = "tool_result"
		m.addUnsent(piformatObjectOf(o["details"]).text("aggregated"))
	case "bashExecution":
		m.Role = "shell"
		m.Parts = append(m.Parts, saidPart{Kind: session.PartCommand, Text: o.text("command")})
		m.addText(o.text("output"))
	case "custom", "hookMessage":
		m.Role = "injected"
	case "branchSummary", "compactionSummary":
		m.Role = "summary"
		m.addText(o.text("summary"))
	default:
		m.Role = "injected"
		if m.Custom == "" {
			m.Custom = "role " + role
		}
	}
}

func (m *piformatSaid) addText(text string) {
	if text != "" {
		m.Parts = append(m.Parts, saidPart{Kind: session.PartText, Text: text})
	}
}

func (m *piformatSaid) readContent(raw json.RawMessage, thinking bool) {
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		elements = []json.RawMessage{raw}
	}
	for _, e := range elements {
		var s *string
		if json.Unmarshal(e, &s) == nil && s != nil {
			m.addText(*s)
			continue
		}
		if o := piformatObjectOf(e); o != nil {
			m.readBlock(o, thinking)
		}
	}
}

func (m *piformatSaid) readBlock(o piformatObject, thinking bool) {
	switch o.text("type") {
	case "toolCall":
		args := string(o["arguments"])
		if args == "null" {
			args = ""
		}
		m.Parts = append(m.Parts, saidPart{Kind: session.PartToolCall, Name: o.text("name"), CallID: o.name("id"), Text: args})
	case "image":
		m.Parts = append(m.Parts, saidPart{Kind: session.PartImage, Size: max(int64(len(o["data"]))-2, 0)})
	case "thinking":
		if text := o.text("thinking"); text != "" && thinking {
			m.Parts = append(m.Parts, saidPart{Kind: session.PartThinking, Text: text})
		}
	default:
		m.addText(o.text("text"))
	}
}

// addUnsent adds what the texts before do not say. The samples and the generator
// have outputs that are sent as a whole or not at all.
func (m *piformatSaid) addUnsent(whole string) {
	whole = strings.TrimSpace(whole)
	for _, p := range m.Parts {
		if p.Kind == session.PartText && strings.Contains(p.Text, whole) {
			return
		}
	}
	if whole != "" {
		m.Parts = append(m.Parts, saidPart{Kind: session.PartUnsent, Text: whole})
	}
}

func (m *piformatSaid) naiveText() string {
	var lines []string
	oneLine := strings.NewReplacer("\n", `\n`, "\r", `\r`)
	for _, p := range m.Parts {
		switch {
		case (p.Kind == session.PartText || p.Kind == session.PartUnsent) && p.Text != "":
			lines = append(lines, p.Text)
		case p.Kind == session.PartCommand && p.Text != "":
			lines = append(lines, "$ "+p.Text)
		case p.Kind == session.PartToolCall && p.Name+p.Text != "":
			lines = append(lines, "[tool call] "+oneLine.Replace(p.Name)+" "+oneLine.Replace(p.Text))
		}
	}
	text := strings.Join(lines, "\n")
	if m.Role == "shell" && m.Exit != "" {
		text += "\n[exit code " + m.Exit + "]"
	}
	if m.Role == "assistant" && m.IsError && m.StopReason != "aborted" && strings.TrimSpace(m.Error) != "" {
		text += "\n[error] " + m.Error
	}
	return strings.TrimSpace(text)
}

var naiveLayouts = map[bool][]string{
	false: {time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07:00",
		"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05Z07", "2006-01-02 15:04Z07:00"},
	true: {"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"},
}

// What the oracle takes for a plausible time: 2000 to 2200.
const (
	earliest = 946_684_800_000
	latest   = 7_258_118_400_000
)

func naiveTime(raw json.RawMessage) (ms int64, naive, ok bool) {
	text := string(raw)
	var s *string
	if json.Unmarshal(raw, &s) == nil && s != nil {
		text = *s
		for naive, layouts := range naiveLayouts {
			for _, layout := range layouts {
				// time.Parse takes an hour of one digit too, which ISO 8601 has not,
				// and no small t and z, which it has.
				if t, err := time.Parse(layout, strings.ToUpper(text)); err == nil && len(text) >= len("2006-01-02T15:04") {
					ms = t.UnixMilli()
					return ms, naive, ms >= earliest && ms < latest
				}
			}
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 {
		return 0, false, false
	}
	switch {
	case f < 1e11:
		f *= 1000
	case f < 1e14:
	case f < 1e17:
		f /= 1000
	default:
		f /= 1e6
	}
	return int64(f), false, int64(f) >= earliest && f < latest
}
