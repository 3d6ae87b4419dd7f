package carry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
)

// Tools says what becomes of calls.
type Tools string

// The ways of carrying calls.
const (
	Mixed  Tools = "mixed"  // by the target's name, else by their own; what it would cut as text
	Mapped Tools = "mapped" // by the target's name, else as text
	Texts  Tools = "text"   // all as text
)

// Options say how a context is carried.
type Options struct {
	Tools  Tools
	Target session.ToolNames
	// Changed reports whether a file is not what it was at a time (epoch milliseconds).
	// It is asked about calls that make the target trust a file. nil: none is.
	Changed     func(path string, since int64) bool
	KeepSecrets bool
	NoImages    bool
	// Summary stands for what was left out of the messages; "" for nothing. It takes the
	// place of the one that the context begins with, which it knows.
	Summary string
}

// Report counts what arrives, and what does not.
type Report struct {
	Messages   int `json:"messages"`    // that arrive, results included
	Pairs      int `json:"pairs"`       // calls that arrive with their results
	CallsText  int `json:"calls_text"`  // calls that arrive as text
	Unanswered int `json:"unanswered"`  // calls without a result: one that says so stands there
	Orphans    int `json:"orphans"`     // results without a call, which arrive as text
	Images     int `json:"images"`      // left out
	Shown      int `json:"images_kept"` // that arrive, as they are
	Injected   int `json:"injected"`    // messages of the runtime itself, left out: the target has its own
	BrokenOff  int `json:"broken_off"`  // answers that did not end, left out with their results
	Masked     int `json:"masked"`      // secrets
	Summarized int `json:"summarized"`  // messages that were left out to fit the budget; a summary stands for them
	Tokens     int `json:"tokens"`      // estimate of what arrives
	TextBytes  int `json:"text_bytes"`  // of what arrives
}

// Prepare makes of a context what another runtime can go on with. Messages are as
// [replay.Read] returns them.
func Prepare(messages []replay.Message, o Options) (session.Carried, Report) {
	p := preparing{options: o}
	for _, m := range shown(messages, o.Target.Images && !o.NoImages) {
		p.take(m)
	}
	p.answer()
	c := session.Carried{Summary: cmp.Or(o.Summary, p.summary), Messages: p.joined()}
	if !o.KeepSecrets {
		p.report.Masked = mask(&c)
	}
	p.count(&c)
	return c, p.report
}

// preparing is a context on its way.
type preparing struct {
	options  Options
	report   Report
	summary  string
	turns    []turnPart
	answered bool            // a result came after the last of them
	dropped  map[string]bool // ids of calls that were left out with their answer
	next     int             // number of the next call
}

// turnPart is a message with the calls it made.
type turnPart struct {
	said  replay.Message
	role  session.Role
	calls []pair
}

// pair is a call and its result; nil if there is none.
type pair struct {
	call   replay.ToolCall
	result *replay.Message
}

// take sorts a message in.
func (p *preparing) take(m replay.Message) {
	p.report.Images += m.Images()
	if m.Injected != "" || m.Role == replay.Tool && p.dropped[m.CallID] {
		p.report.Images += len(m.Pictures())
	}
	switch {
	case m.Role == replay.Summary:
		p.summary = session.UnmarkedSummary(m.Text)
	case m.Role == replay.System || m.Injected != "":
		p.report.Injected++
	case m.Failed():
		p.leaveOut(m)
	case m.Role == replay.Tool:
		p.result(m)
	case m.Role == replay.Assistant:
		p.say(m, session.RoleAssistant)
	default:
		p.say(m, session.RoleUser)
	}
}

// leaveOut drops an answer that did not end, as pi does: half a turn is not sent again.
func (p *preparing) leaveOut(m replay.Message) {
	p.report.BrokenOff++
	if p.dropped == nil {
		p.dropped = map[string]bool{}
	}
	for _, c := range m.ToolCalls {
		p.dropped[c.ID] = true
	}
}

func (p *preparing) say(m replay.Message, role session.Role) {
	part := turnPart{said: m, role: role}
	for _, c := range m.ToolCalls {
		if role == session.RoleAssistant {
			delete(p.dropped, c.ID)
			part.calls = append(part.calls, pair{call: c})
		}
	}
	if strings.TrimSpace(m.Text) == "" && len(part.calls) == 0 && len(m.Pictures()) == 0 {
		return
	}
	if last := len(p.turns) - 1; last >= 0 && role == session.RoleAssistant && p.turns[last].role == role && !p.answered {
		p.turns[last].said.Text = joinText(p.turns[last].said.Text, m.Text) // one answer in several records
		p.turns[last].calls = append(p.turns[last].calls, part.calls...)
		return
	}
	p.turns, p.answered = append(p.turns, part), false
}

// result gives a result to the last call of its id that has none.
func (p *preparing) result(m replay.Message) {
	for i := len(p.turns) - 1; i >= 0; i-- {
		for j := range p.turns[i].calls {
			if x := &p.turns[i].calls[j]; x.call.ID == m.CallID && x.result == nil && m.CallID != "" {
				x.result, p.answered = &m, true
				return
			}
		}
	}
	if p.dropped[m.CallID] {
		return
	}
	p.report.Orphans++
	m.Text = "[result of a call that is not in the log]\n" + m.Text
	p.turns = append(p.turns, turnPart{said: m, role: session.RoleUser})
}

// answer gives a result to each call that has none.
func (p *preparing) answer() {
	for i := range p.turns {
		for j := range p.turns[i].calls {
			if x := &p.turns[i].calls[j]; x.result == nil {
				p.report.Unanswered++
				x.result = &replay.Message{Role: replay.Tool, Text: replay.Unavailable, IsError: true}
			}
		}
	}
}

// joined are the messages as they go out: of one role at a time, results right after
// their calls.
func (p *preparing) joined() (out []session.CarriedMessage) {
	for _, t := range p.turns {
		m := session.CarriedMessage{Role: t.role, Text: t.said.Text, Time: t.said.Time(), Images: t.said.Pictures()}
		if strings.TrimSpace(m.Text) == "" {
			m.Text = ""
		}
		var after []session.CarriedMessage
		for _, x := range t.calls {
			after = append(after, p.carry(&m, x))
		}
		out = add(out, m)
		for _, r := range after {
			out = add(out, r)
		}
	}
	return p.sent(inOrder(out))
}

// sent puts a mark before what the target would not send for how it begins.
func (p *preparing) sent(messages []session.CarriedMessage) []session.CarriedMessage {
	for i := range messages {
		m := &messages[i]
		if m.Role == session.RoleUser && strings.IndexAny(strings.TrimSpace(m.Text), p.options.Target.Unsent) == 0 {
			m.Text = "[said] " + m.Text
		}
	}
	return messages
}

// add says something after the others, in one message with what the same one said before.
func add(out []session.CarriedMessage, m session.CarriedMessage) []session.CarriedMessage {
	last := len(out) - 1
	if last < 0 || out[last].Role != m.Role || m.Role == session.RoleToolResult {
		return append(out, m)
	}
	out[last].Text = joinText(out[last].Text, m.Text)
	out[last].Images = slices.Concat(out[last].Images, m.Images)
	out[last].Calls = append(out[last].Calls, m.Calls...)
	return out
}

// carry adds a call to its message, as a call or as text, and returns its result.
func (p *preparing) carry(m *session.CarriedMessage, x pair) session.CarriedMessage {
	r := session.CarriedMessage{Role: session.RoleToolResult, Text: x.result.Text, Failed: x.result.IsError, Images: x.result.Pictures(), Time: max(m.Time, x.result.Time())}
	call, ok := p.asCall(x, m.Time)
	if !ok {
		p.report.CallsText++
		m.Text = joinText(m.Text, "[tool call] "+x.call.Name+" "+x.call.Arguments)
		head := "[result of " + x.call.Name
		if r.Failed {
			head += ", failed"
		}
		return session.CarriedMessage{Role: session.RoleUser, Text: head + "]\n" + r.Text, Images: r.Images, Time: r.Time}
	}
	p.next++
	p.report.Pairs++
	call.ID = fmt.Sprintf("call_%06d", p.next)
	r.CallID, r.ToolName = call.ID, call.Name
	m.Calls = append(m.Calls, call)
	return r
}

// asCall is a call by the target's name, or by its own; false if it goes as text.
func (p *preparing) asCall(x pair, at int64) (session.CarriedCall, bool) {
	long := p.options.Target.Longest
	unseen := len(x.result.Pictures()) > 0 && (!p.options.Target.ResultImages || x.result.IsError)
	if p.options.Tools == Texts || p.options.Target.TextOnly || unseen || long > 0 && len([]rune(x.result.Text)) > long {
		return session.CarriedCall{}, false
	}
	arguments := objectOf(x.call.Arguments)
	call, ok := exactly(p.options.Target, x.call.Name, arguments)
	if ok && !p.stale(call, at) {
		return call, true
	}
	if p.options.Tools != Mixed || !validName(x.call.Name) || trusted(p.options.Target, x.call.Name) {
		return session.CarriedCall{}, false
	}
	return session.CarriedCall{Name: x.call.Name, Arguments: arguments}, true
}

// stale reports whether a call would make the target believe that it knows a file which
// has changed since.
func (p *preparing) stale(c session.CarriedCall, at int64) bool {
	if !p.options.Target.Trusts || p.options.Changed == nil || c.Name == p.options.Target.Run {
		return false
	}
	var arguments map[string]any
	_ = json.Unmarshal(c.Arguments, &arguments) // exactly made it
	path, _ := arguments[p.options.Target.Path].(string)
	return p.options.Changed(path, at)
}

// inOrder puts results behind the message of their calls where texts stand between: a
// provider takes results only at once.
func inOrder(messages []session.CarriedMessage) (out []session.CarriedMessage) {
	results := map[string]session.CarriedMessage{}
	for _, m := range messages {
		if m.Role == session.RoleToolResult {
			results[m.CallID] = m
		}
	}
	for _, m := range messages {
		if m.Role == session.RoleToolResult {
			continue
		}
		out = add(out, m)
		for _, c := range m.Calls {
			out = append(out, results[c.ID])
		}
	}
	return out
}

// count says what arrives.
func (p *preparing) count(c *session.Carried) {
	p.report.Messages = len(c.Messages)
	text := len(c.Summary)
	tokens := session.EstimateTokens([]byte(c.Summary))
	for _, m := range c.Messages {
		text += len(m.Text)
		tokens += session.EstimateTokens([]byte(m.Text)) + int64(len(m.Images))*session.ImageTokens
		p.report.Shown += len(m.Images)
		for _, call := range m.Calls {
			tokens += session.EstimateTokens(call.Arguments)
		}
	}
	p.report.TextBytes, p.report.Tokens = text, int(tokens)
}

func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
