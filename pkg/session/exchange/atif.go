package exchange

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// head is what the beginning of a file says of all of it.
type head struct{ session, trajectory, agent, model, directory string }

// id is the id of the session: two trajectories of one session have two.
func (h head) id() string {
	if h.session == "" || h.trajectory == "" || strings.Contains(h.trajectory, h.session) {
		return orElse(h.trajectory, h.session)
	}
	return h.session + "." + h.trajectory
}

// headOf reads the members of an object that stand before its steps, as far as they are
// there.
func headOf(raw []byte) (h head) {
	dec := json.NewDecoder(bytes.NewReader(blankless(raw)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return h
	}
	members := map[string]json.RawMessage{}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			break // it is longer than what was read
		}
		if name, ok := key.(string); ok {
			members[name] = value
		}
	}
	return headIn(members)
}

func headIn(members map[string]json.RawMessage) (h head) {
	text := func(name string) (s string) {
		_ = json.Unmarshal(members[name], &s)
		return s
	}
	var agent struct {
		Name  string `json:"name"`
		Model string `json:"model_name"`
		Extra struct {
			Directory string `json:"cwd"`
		} `json:"extra"`
	}
	switch {
	case text("schema_version") != "":
		_ = json.Unmarshal(members["agent"], &agent)
		return head{text("session_id"), text("trajectory_id"), agent.Name, agent.Model, agent.Extra.Directory}
	case text("harness") != "":
		h.agent = text("harness")
	}
	h.session = text("id")
	return h
}

// step is one step of a trajectory.
type step struct {
	ID        int             `json:"step_id"`
	Time      json.RawMessage `json:"timestamp"`
	Source    string          `json:"source"`
	Model     string          `json:"model_name"`
	Message   json.RawMessage `json:"message"`
	Reasoning string          `json:"reasoning_content"`
	Calls     []struct {
		ID        string          `json:"tool_call_id"`
		Name      string          `json:"function_name"`
		Arguments json.RawMessage `json:"arguments"`
		Extra     callExtra       `json:"extra"`
	} `json:"tool_calls"`
	Observation struct {
		Results []result `json:"results"`
	} `json:"observation"`
	Metrics *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Cached     int64 `json:"cached_tokens"`
		Extra      struct {
			CacheWrite int64 `json:"cache_write_tokens"`
			Total      int64 `json:"total_tokens"`
		} `json:"extra"`
	} `json:"metrics"`
	Copied bool `json:"is_copied_context"`
	Extra  struct {
		Managed *struct {
			Type string `json:"type"`
		} `json:"context_management"`
		Ours *ours `json:"sessctl"`
	} `json:"extra"`

	// What a trajectory has, of one that is embedded.
	Steps      []json.RawMessage `json:"steps"`
	Embedded   []json.RawMessage `json:"subagent_trajectories"`
	Trajectory string            `json:"trajectory_id"`
}

// callExtra is what sessctl writes beside a call: arguments that are no object.
type callExtra struct {
	Raw *string `json:"raw_arguments"`
}

type result struct {
	Call    string          `json:"source_call_id"`
	Content json.RawMessage `json:"content"`
	Extra   struct {
		Failed bool    `json:"is_error"`
		Exit   *int    `json:"exit_code"`
		Call   string  `json:"tool_call_id"` // of a result whose call is not there
		Tool   string  `json:"tool_name"`
		Ours   bool    `json:"sessctl_result"` // a message of its own
		Unsent *string `json:"unsent"`
	} `json:"extra"`
}

// ours is what sessctl writes beside a step: what the format has no place for.
type ours struct {
	Role      string `json:"role"`
	Type      string `json:"type"`
	Outside   bool   `json:"out_of_context"`
	Abandoned bool   `json:"abandoned"`
	SentAs    string `json:"sent_as"`
	FirstKept int    `json:"first_kept_step"`
	Failed    bool   `json:"is_error"`
	Stop      string `json:"stop_reason"`
	Error     string `json:"error"`
	Images    int    `json:"images"`
	Exit      *int   `json:"exit_code"`
}

// trajectory takes a line that is a whole trajectory.
func (x *scanner) trajectory(r *jsonl.Record) (known bool, err error) {
	var t step
	if err := decoded(r.Raw, &t); err != nil || t.Steps == nil {
		return false, err
	}
	for _, raw := range append(t.Steps, t.Embedded...) {
		part := *r
		part.Raw = raw
		if _, err := x.step(&part); err != nil {
			return true, err
		}
	}
	return true, nil
}

// step takes a step, or a trajectory that is embedded: what a sub-agent did is not in
// the context of its agent.
func (x *scanner) step(r *jsonl.Record) (known bool, err error) {
	var s step
	if err := decoded(r.Raw, &s); err != nil {
		return false, err
	}
	if s.Steps == nil {
		messages := x.stepOf(&s)
		return len(messages) > 0, x.say(r, messages)
	}
	return true, x.embedded(r, &s)
}

func (x *scanner) embedded(r *jsonl.Record, t *step) error {
	for _, raw := range t.Steps {
		var s step
		if decoded(raw, &s) != nil || s.Source == "" {
			continue
		}
		messages := x.stepOf(&s)
		for i := range messages {
			m := &messages[i]
			m.OutOfContext, m.ID = m.OutOfContext || m.Branch == session.Active, []byte(t.Trajectory+"/"+string(m.ID))
		}
		if err := x.say(r, messages); err != nil {
			return err
		}
	}
	for _, raw := range t.Embedded {
		var inner step
		if decoded(raw, &inner) == nil && inner.Steps != nil {
			if err := x.embedded(r, &inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// stepOf makes the messages of a step: what is said, and the results of its calls.
func (x *scanner) stepOf(s *step) []session.Message {
	if s.Source == "" {
		return nil
	}
	m := spoken(s.Source)
	m.ID, m.Model, m.Directory, m.Carried = []byte(strconv.Itoa(s.ID)), []byte(orElse(s.Model, x.head.model)), []byte(x.head.directory), s.Copied
	m.Time, m.TimeInferred, _ = session.ParseTime(s.Time)
	think(&m, s.Reasoning)
	content(&m, s.Message)
	for _, c := range s.Calls {
		arguments := function{Arguments: c.Arguments}.raw() // some write a string of JSON
		if c.Extra.Raw != nil {
			arguments = []byte(*c.Extra.Raw)
		}
		x.call(&m, c.ID, c.Name, arguments)
	}
	if u := s.Metrics; u != nil && m.Role == session.RoleAssistant {
		m.HasUsage = true
		m.Usage = session.Usage{Input: max(u.Prompt-u.Cached-u.Extra.CacheWrite, 0), Output: u.Completion, CacheRead: u.Cached, CacheWrite: u.Extra.CacheWrite, Total: u.Extra.Total}
	}
	if s.Extra.Managed != nil {
		m.Role = session.RoleSummary
	}
	if s.Extra.Ours != nil {
		s.Extra.Ours.restore(&m)
	}
	return x.withResults(m, s)
}

// restore gives a message what the format has no place for.
func (o *ours) restore(m *session.Message) {
	for role := session.RoleUser; role <= session.RoleSystem; role++ {
		if role.String() == o.Role {
			m.Role = role
		}
		if role.String() == o.SentAs {
			m.SentAs = role
		}
	}
	if m.Compaction = o.Role == session.RoleSummary.String() && o.Type == "compaction"; !m.Compaction {
		m.CustomType = []byte(o.Type)
	}
	if o.FirstKept > 0 {
		m.FirstKept = []byte(strconv.Itoa(o.FirstKept))
	}
	if o.Abandoned {
		m.Branch = session.Abandoned
	}
	if m.HasExit = o.Exit != nil; m.HasExit {
		m.ExitCode = *o.Exit
	}
	m.OutOfContext, m.IsError, m.StopReason, m.ErrorText = o.Outside, o.Failed, []byte(o.Stop), []byte(o.Error)
	for range o.Images {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage})
	}
}

// withResults adds the messages of results. A step that only carries a result whose call
// is not there says nothing itself.
func (x *scanner) withResults(m session.Message, s *step) []session.Message {
	all := []session.Message{m}
	for _, r := range s.Observation.Results {
		t := session.Message{Role: session.RoleToolResult, ID: m.ID, Time: m.Time, TimeInferred: true, Directory: m.Directory, Carried: m.Carried, Branch: m.Branch, OutOfContext: m.OutOfContext}
		t.CallID, t.ToolName, t.IsError = []byte(orElse(r.Call, r.Extra.Call)), x.name[r.Call], r.Extra.Failed
		if r.Extra.Tool != "" {
			t.ToolName = []byte(r.Extra.Tool)
		}
		if t.HasExit = r.Extra.Exit != nil; t.HasExit {
			t.ExitCode = *r.Extra.Exit
		}
		content(&t, r.Content)
		if r.Extra.Unsent != nil {
			t.Parts = append(t.Parts, session.Part{Kind: session.PartUnsent, Text: []byte(*r.Extra.Unsent)})
		}
		switch {
		case r.Extra.Ours:
			all = all[1:]
		case len(t.CallID) == 0 && len(s.Calls) == 1:
			t.CallID, t.ToolName = []byte(s.Calls[0].ID), []byte(s.Calls[0].Name)
		case len(t.CallID) == 0:
			t.Role, t.CustomType = session.RoleInjected, []byte("observation")
			if s.Extra.Managed != nil {
				t.Role = session.RoleSummary
			}
		}
		if len(t.Parts) > 0 || len(t.CallID) > 0 {
			all = append(all, t)
		}
	}
	return all
}
