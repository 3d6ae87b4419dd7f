package exchange

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// ATIFVersion is the version of the format that is written. All from 1.0 to 1.8 are read.
const ATIFVersion = "ATIF-v1.7"

// Session is what is known of a session beside its log.
type Session struct {
	Runtime, Agent, ID string
	// Subagents are the ids of the sessions of its sub-agents. Each is named as a file
	// that is not written: ID.trajectory.json.
	Subagents []string
}

type trajectory struct {
	Version    string       `json:"schema_version"`
	Session    string       `json:"session_id"`
	Trajectory string       `json:"trajectory_id,omitempty"`
	Agent      agent        `json:"agent"`
	Steps      []*step      `json:"steps"`
	Final      *final       `json:"final_metrics,omitempty"`
	Embedded   []trajectory `json:"subagent_trajectories,omitempty"`
}

type agent struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Model   string      `json:"model_name,omitempty"`
	Extra   *agentExtra `json:"extra,omitempty"`
}

type agentExtra struct {
	Directory string `json:"cwd"`
}

type final struct {
	Steps int `json:"total_steps"`
}

type step struct {
	ID        int          `json:"step_id"`
	Time      string       `json:"timestamp,omitempty"`
	Source    string       `json:"source"`
	Model     string       `json:"model_name,omitempty"`
	Message   string       `json:"message"`
	Reasoning string       `json:"reasoning_content,omitempty"`
	Calls     []call       `json:"tool_calls,omitempty"`
	Observed  *observation `json:"observation,omitempty"`
	Metrics   *metrics     `json:"metrics,omitempty"`
	LLMCalls  *int         `json:"llm_call_count,omitempty"`
	Extra     *stepExtra   `json:"extra,omitempty"`
}

type call struct {
	ID        string          `json:"tool_call_id"`
	Name      string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
	Extra     *callExtra      `json:"extra,omitempty"`
}

type callExtra struct {
	Raw string `json:"raw_arguments"` // that are no object
}

type observation struct {
	Results []result `json:"results"`
}

type result struct {
	Call    string       `json:"source_call_id,omitempty"`
	Content *string      `json:"content,omitempty"`
	Refs    []reference  `json:"subagent_trajectory_ref,omitempty"`
	Extra   *resultExtra `json:"extra,omitempty"`
}

type reference struct {
	Path    string `json:"trajectory_path"`
	Session string `json:"session_id"`
}

type resultExtra struct {
	Failed bool    `json:"is_error,omitempty"`
	Exit   *int    `json:"exit_code,omitempty"`
	Call   string  `json:"tool_call_id,omitempty"`
	Tool   string  `json:"tool_name,omitempty"`
	Ours   bool    `json:"sessctl_result,omitempty"` // the step is nothing else
	Unsent *string `json:"unsent,omitempty"`
}

type metrics struct {
	Prompt     int64        `json:"prompt_tokens"` // what was cached is part of it
	Completion int64        `json:"completion_tokens"`
	Cached     int64        `json:"cached_tokens,omitempty"`
	Extra      metricsExtra `json:"extra,omitzero"`
}

type metricsExtra struct {
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	Total      int64 `json:"total_tokens,omitempty"`
}

type stepExtra struct {
	Managed *managed `json:"context_management,omitempty"`
	Ours    *ours    `json:"sessctl,omitempty"`
}

type managed struct {
	Type string `json:"type"`
}

// ours is what sessctl keeps of a message that the format has no place for.
type ours struct {
	Role      string `json:"role,omitempty"` // where the source does not tell
	Type      string `json:"type,omitempty"`
	Outside   bool   `json:"out_of_context,omitempty"`
	Abandoned bool   `json:"abandoned,omitempty"`
	SentAs    string `json:"sent_as,omitempty"`
	FirstKept int    `json:"first_kept_step,omitempty"`
	Failed    bool   `json:"is_error,omitempty"`
	Stop      string `json:"stop_reason,omitempty"`
	Error     string `json:"error,omitempty"`
	Images    int    `json:"images,omitempty"`
	Exit      *int   `json:"exit_code,omitempty"`
}

// ErrNothing is returned for a session in which nothing was said: a trajectory has at
// least one step.
var ErrNothing = errors.New("nothing was said in it")

// ATIF writes a session as a trajectory: all of its active branch, also what a compaction
// took out of the context. Other branches stand in a trajectory of their own, which is
// embedded. It returns what reading the log has shown, and [ErrNothing].
func ATIF(ctx context.Context, w io.Writer, about Session, scanner session.Scanner, open func() (io.ReadCloser, error)) (session.Scan, error) {
	var t *writer
	scan, err := session.ScanActive(ctx, withThinking{scanner}, open, func() func(*session.Message) error {
		t = &writer{}
		return t.add
	})
	if err != nil {
		return scan, err
	}
	about.ID = cmp.Or(about.ID, scan.SessionID, "unknown")
	doc := t.trajectory(about)
	if len(doc.Steps) == 0 {
		return scan, ErrNothing
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return scan, enc.Encode(doc)
}

// withThinking also reads what a model thought.
type withThinking struct{ session.Scanner }

// Scan implements [session.Scanner].
func (s withThinking) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	o.Thinking = true
	return s.Scanner.Scan(ctx, r, o, emit)
}

// writer makes the steps of a session while it is read.
type writer struct {
	active, abandoned branch
	agent             agent
}

func (t *writer) add(m *session.Message) error {
	t.agent.Model = cmp.Or(string(m.Model), t.agent.Model)
	if len(m.Directory) > 0 {
		t.agent.Extra = &agentExtra{valid(m.Directory)}
	}
	if m.Branch == session.Abandoned {
		t.abandoned.add(m)
		return nil
	}
	t.active.add(m)
	return nil
}

func (t *writer) trajectory(about Session) trajectory {
	t.agent.Name, t.agent.Version = cmp.Or(about.Runtime, "unknown"), "unknown"
	t.active.refer(about)
	doc := trajectory{Version: ATIFVersion, Session: about.ID, Agent: t.agent, Steps: t.active.steps, Final: &final{len(t.active.steps)}}
	switch aside := t.abandoned.steps; {
	case len(doc.Steps) == 0:
		doc.Steps, doc.Final.Steps = aside, len(aside)
	case len(aside) > 0:
		doc.Embedded = []trajectory{{Version: ATIFVersion, Session: about.ID, Trajectory: "abandoned", Agent: t.agent, Steps: aside}}
	}
	return doc
}

// branch are the steps of one branch.
type branch struct {
	steps []*step
	open  map[string]*step // by the id of a call that has no result
	kept  session.Context[int]
}

func (b *branch) add(m *session.Message) {
	if m.Role == session.RoleToolResult {
		b.result(m)
		return
	}
	s := b.step(m, sourceOf(m))
	s.say(m)
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartToolCall {
			b.call(s, p)
		}
	}
	if s.Source != "agent" {
		return
	}
	s.Model = string(m.Model)
	if m.HasUsage && s.LLMCalls == nil {
		u := m.Usage
		s.Metrics = &metrics{Prompt: u.Input + u.CacheRead + u.CacheWrite, Completion: u.Output, Cached: u.CacheRead, Extra: metricsExtra{u.CacheWrite, u.Total}}
	}
}

// sourceOf says who has said a message. Only an agent makes calls.
func sourceOf(m *session.Message) string {
	calls := slices.ContainsFunc(m.Parts, func(p session.Part) bool {
		return p.Kind == session.PartToolCall || p.Kind == session.PartThinking
	})
	switch {
	case m.Role == session.RoleAssistant, m.SentAs == session.RoleAssistant, calls:
		return "agent"
	case m.Role == session.RoleUser, m.Role == session.RoleShell:
		return "user"
	}
	return "system"
}

// step begins the step of a message.
func (b *branch) step(m *session.Message, source string) *step {
	s := &step{ID: len(b.steps) + 1, Source: source}
	b.steps = append(b.steps, s)
	if m.Time > 0 && !m.TimeInferred {
		s.Time = time.UnixMilli(m.Time).UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	o := ours{Outside: m.OutOfContext, Abandoned: m.Branch == session.Abandoned}
	if m.SentAs != 0 {
		o.SentAs = m.SentAs.String()
	}
	if m.Role != session.RoleToolResult {
		o.Failed, o.Stop, o.Error = m.IsError, valid(m.StopReason), valid(m.ErrorText)
		if told := map[string]session.Role{"agent": session.RoleAssistant, "user": session.RoleUser, "system": session.RoleSystem}[source]; m.Role != told {
			o.Role, o.Type = m.Role.String(), valid(m.CustomType)
		}
		o.Exit = exitOf(m)
	}
	if source == "agent" && m.Role != session.RoleAssistant {
		s.LLMCalls = new(int)
	}
	s.Extra = &stepExtra{Ours: &o}
	b.context(m, s)
	return s
}

// context follows what a compaction keeps.
func (b *branch) context(m *session.Message, s *step) {
	o := s.Extra.Ours
	switch {
	case m.Compaction:
		b.kept.Pass(m)
		first, _ := b.kept.Kept(m)
		b.kept.Drop(first)
		if o.Type, s.Extra.Managed = "compaction", (&managed{"compaction"}); len(b.kept.Entries) > 0 {
			o.FirstKept = b.kept.Entries[0]
		}
	case m.OutOfContext:
		b.kept.Pass(m)
	default:
		b.kept.Add(m, s.ID)
	}
	if *o == (ours{}) {
		if s.Extra.Ours = nil; s.Extra.Managed == nil {
			s.Extra = nil
		}
	}
}

// say sets what a message says, and what was thought.
func (s *step) say(m *session.Message) {
	text := said(m)
	var thoughts []string
	images := 0
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case session.PartThinking:
			thoughts = append(thoughts, valid(p.Text))
		case session.PartImage:
			images++
		}
	}
	s.Message, s.Reasoning = text, strings.Join(thoughts, "\n\n")
	if s.LLMCalls != nil { // nobody has thought there
		s.Message, s.Reasoning = strings.TrimPrefix(s.Reasoning+"\n\n"+text, "\n\n"), ""
	}
	if images > 0 {
		s.ours().Images = images
	}
}

// ours is where what the format has no place for stands.
func (s *step) ours() *ours {
	if s.Extra == nil {
		s.Extra = &stepExtra{}
	}
	if s.Extra.Ours == nil {
		s.Extra.Ours = &ours{}
	}
	return s.Extra.Ours
}

// said is the text of a message without its calls, as it stands in the log.
func said(m *session.Message) string {
	var texts []string
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case session.PartCommand:
			texts = append(texts, "$ "+valid(p.Text))
		case session.PartText:
			texts = append(texts, valid(p.Text))
		}
	}
	return strings.Join(texts, "\n")
}

func valid(text []byte) string { return strings.ToValidUTF8(string(text), string(utf8.RuneError)) }

// call adds a call to a step.
func (b *branch) call(s *step, p *session.Part) {
	c := call{ID: valid(p.CallID), Name: valid(p.Name), Arguments: p.Text}
	if c.ID == "" || slices.ContainsFunc(s.Calls, func(x call) bool { return x.ID == c.ID }) {
		c.ID = fmt.Sprintf("call_%d_%d", s.ID, len(s.Calls)+1)
	}
	var object map[string]json.RawMessage
	if !utf8.Valid(p.Text) || json.Unmarshal(p.Text, &object) != nil || object == nil {
		c.Arguments, c.Extra = json.RawMessage("{}"), &callExtra{valid(p.Text)}
	} else {
		c.Arguments = slices.Clone(p.Text)
	}
	if b.open == nil {
		b.open = map[string]*step{}
	}
	s.Calls = append(s.Calls, c)
	b.open[c.ID] = s
}

// result adds a result to the step of its call. One whose call is not there is a step of
// its own.
func (b *branch) result(m *session.Message) {
	text := said(m)
	r := result{Call: valid(m.CallID), Content: &text}
	x := resultExtra{Failed: m.IsError, Exit: exitOf(m)}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartUnsent {
			unsent := valid(p.Text)
			x.Unsent = &unsent
		}
	}
	s := b.open[r.Call]
	if s == nil || m.OutOfContext != s.outside() {
		s = b.step(m, "system")
		x.Call, x.Tool, x.Ours, r.Call = r.Call, valid(m.ToolName), true, ""
	} else {
		b.kept.Pass(m)
		delete(b.open, r.Call)
	}
	if x != (resultExtra{}) {
		r.Extra = &x
	}
	if s.Observed == nil {
		s.Observed = &observation{}
	}
	s.Observed.Results = append(s.Observed.Results, r)
}

// exitOf is the exit code that a message has.
func exitOf(m *session.Message) *int {
	if !m.HasExit {
		return nil
	}
	code := m.ExitCode
	return &code
}

func (s *step) outside() bool { return s.Extra != nil && s.Extra.Ours != nil && s.Extra.Ours.Outside }

// refer names the sub-agents: at the result that names one, else at the last step.
func (b *branch) refer(about Session) {
	if len(b.steps) == 0 {
		return
	}
	for _, id := range about.Subagents {
		ref := reference{id + ".trajectory.json", id}
		if r := b.naming(strings.TrimPrefix(id, "agent-")); r != nil {
			r.Refs = append(r.Refs, ref)
			continue
		}
		last := b.steps[len(b.steps)-1]
		if last.Observed == nil {
			last.Observed = &observation{}
		}
		last.Observed.Results = append(last.Observed.Results, result{Refs: []reference{ref}})
	}
}

// naming is the result in which an id stands, nil if there is none.
func (b *branch) naming(id string) *result {
	for _, s := range b.steps {
		if s.Observed == nil {
			continue
		}
		for i := range s.Observed.Results {
			if r := &s.Observed.Results[i]; r.Content != nil && strings.Contains(*r.Content, id) {
				return r
			}
		}
	}
	return nil
}
