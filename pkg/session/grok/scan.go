package grok

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/readonly"
)

// record is one line of a log: an update of a session.
type record struct {
	session, kind, method      []byte
	time, seconds              []byte
	prompt, content            []byte
	hidden, host               bool // what stands in the person's name is the program's, or a command
	call, name, input          []byte
	status                     []byte // of a call
	output, text, exit         []byte // of its result
	stop, said                 []byte // of a turn
	checkpoint, preview, model []byte // of a compaction
}

// records is what is read of a record (docs/dev/formats.md, "grok").
var records = fields.New(func(x *record) []fields.Field {
	return []fields.Field{
		fields.Text("method", &x.method),
		fields.Raw("timestamp", &x.seconds),
		fields.Text("params.sessionId", &x.session),
		fields.Raw("params._meta.agentTimestampMs", &x.time),
		fields.Text("params._meta.promptId", &x.prompt),
		fields.Text("params.update.sessionUpdate", &x.kind),
		fields.Raw("params.update.content", &x.content),
		fields.Flag("params.update._meta.hideFromScrollback", &x.hidden),
		fields.Flag("params.update._meta.hostTurn", &x.host),
		fields.Text("params.update._meta.modelId", &x.model),
		fields.ID("params.update.toolCallId", &x.call),
		fields.Text("params.update.title", &x.name),
		fields.Value("params.update.rawInput", &x.input),
		fields.Text("params.update.status", &x.status),
		fields.Text("params.update.rawOutput.output_for_prompt", &x.output),
		fields.Text("params.update.rawOutput.text", &x.text),
		fields.Raw("params.update.rawOutput.exit_code", &x.exit),
		fields.Text("params.update.stop_reason", &x.stop),
		fields.Text("params.update.agent_result", &x.said),
		fields.Text("params.update.checkpoint_file", &x.checkpoint),
		fields.Text("params.update.summary_preview", &x.preview),
	}
})

// scanner is the state of one scan.
type scanner struct {
	readonly.Lines
	record     record
	checkpoint []byte // the file with the summary of the compaction that comes next
	model      []byte
}

func newScanner(o session.ScanOptions) readonly.Scanner {
	return &scanner{Lines: readonly.Lines{Runtime: session.RuntimeGrok, Thinking: o.Thinking}}
}

// Scan implements [readonly.Scanner].
func (s *scanner) Scan(ctx context.Context, r io.Reader, emit func(*session.Message) error) (session.Scan, error) {
	return s.Run(ctx, r, emit, s.read)
}

func (s *scanner) read(raw []byte) (readonly.Record, error) {
	x := &s.record
	*x = record{}
	if err := records.Read(x, &s.Cursor, raw); err != nil {
		return readonly.Record{}, err
	}
	is := readonly.Record{Type: x.kind}
	if !strings.HasSuffix(string(x.method), "session/update") {
		is.Type = x.method
		return is, nil
	}
	s.Session(x.session)
	if is.Time, _, _ = session.ParseTime(x.time); is.Time == 0 {
		is.Time, _, _ = session.ParseTime(x.seconds)
	}
	is.Known = s.updated(x)
	is.Sent = strings.HasSuffix(string(x.kind), "_message_chunk")
	return is, nil
}

// updated adds what an update says.
func (s *scanner) updated(x *record) (known bool) {
	answer := session.Message{Role: session.RoleAssistant, Model: s.model}
	switch kind := string(x.kind); kind {
	case "user_message_chunk":
		s.asked(x)
	case "agent_message_chunk":
		s.Content(answer, x.content)
	case "agent_thought_chunk":
		if s.Thinking {
			thought := readonly.Result(nil, x.content, false)
			answer.Parts = []session.Part{{Kind: session.PartThinking, Text: thought.FirstText()}}
			s.Add(answer)
		}
	case "tool_call":
		answer.Parts = []session.Part{{Kind: session.PartToolCall, Name: x.name, CallID: x.call, Text: x.input}}
		s.Add(answer)
	case "tool_call_update":
		s.answered(x)
	case "turn_completed":
		s.ended(x)
	case "compaction_checkpoint":
		s.checkpoint = bytes.Clone(x.checkpoint)
	case "auto_compact_completed":
		s.compacted(x)
	case "rewind_marker":
		s.Doubt(x.kind)
	case "auto_compact_cancelled", "auto_compact_failed", "auto_compact_started", "available_commands_update", "background_tasks",
		"current_mode_update", "model_changed", "plan", "retry_state", "session_recap", "subagent_finished", "subagent_spawned", "turn_started":
	default:
		return strings.HasPrefix(kind, "hook_")
	}
	return true
}

// asked adds what stands in a person's name: words of the program, a command, or what
// was typed.
func (s *scanner) asked(x *record) {
	if len(x.model) > 0 {
		s.model = bytes.Clone(x.model)
	}
	m := readonly.Said("")
	switch {
	case x.hidden:
		m = readonly.Said("grok.context")
	case x.host:
		m = readonly.Said("grok.command")
	}
	m.ID = x.prompt
	s.Content(m, x.content)
}

// answered adds the result of a call that has ended: what the model was given of it.
func (s *scanner) answered(x *record) {
	failed := string(x.status) == "failed"
	if string(x.status) != "completed" && !failed {
		return
	}
	m := session.Message{Role: session.RoleToolResult, CallID: x.call, IsError: failed}
	switch {
	case len(x.output) > 0:
		m.AddText(x.output)
	case len(x.text) > 0:
		m.AddText(x.text)
	default:
		m = readonly.Result(x.call, x.content, failed)
	}
	if len(x.exit) > 0 && len(x.exit) < 4 {
		m.ExitCode, m.HasExit = exitOf(x.exit)
	}
	s.Add(m)
}

// exitOf reads an exit status.
func exitOf(digits []byte) (exit int, ok bool) {
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		exit = 10*exit + int(d-'0')
	}
	return exit, true
}

// ended notes the end of a turn, and adds why, if it failed.
func (s *scanner) ended(x *record) {
	if string(x.stop) == "error" {
		s.Add(session.Message{Role: session.RoleAssistant, IsError: true, StopReason: x.stop, ErrorText: x.said})
	}
	s.Finished = true
}

// compacted adds the summary of a compaction, of which the log has at most the beginning.
func (s *scanner) compacted(x *record) {
	m := s.Add(session.Message{Role: session.RoleSummary, Compaction: true})
	switch {
	case len(x.preview) > 0:
		m.AddText(x.preview)
	case len(s.checkpoint) > 0:
		m.AddText(append([]byte("The summary of what was said before lies beside the log: "), s.checkpoint...))
	}
	s.checkpoint = nil
}
