package droid

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/readonly"
)

const (
	sessionsName = "sessions"
	logEnd       = ".jsonl"
	headBytes    = 16 << 10 // what is read of a log for a listing
)

// Open returns the store of a .factory directory, or of its sessions.
func Open(root string) *readonly.Store {
	return readonly.Open(readonly.Runtime{
		Traits: Traits(), Base: sessionsName, Patterns: []string{"*/*" + logEnd, "*" + logEnd},
		Locate: locate, Describe: func(string) readonly.Describer { return describe }, New: newScanner, Command: "droid makes its context small by itself when it grows",
	}, root)
}

// Roots returns the .factory directory of a user, or that of $FACTORY_HOME_OVERRIDE, if it
// has sessions.
func Roots(home string, getenv func(string) string) []string {
	if other := getenv("FACTORY_HOME_OVERRIDE"); filepath.IsAbs(other) {
		home = other
	}
	return logfile.Holding(home, ".factory", sessionsName)
}

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeDroid, Homes: []string{"~/.factory"}, Variables: []string{"FACTORY_HOME_OVERRIDE"},
		Formats: []session.Format{session.FormatDroid}, SummaryStyle: session.StyleCheckpoint, ReadOnly: true,
		Titles: []session.TitleRecord{{Key: "type", Is: "session_start", Field: "title"}},
	}
}

// locate reads where a log lies. What is directly among the sessions has no directory.
func locate(parts []string) session.Ref {
	ref := session.Ref{Agent: session.AgentOfDirectory("", sessionsName), ID: strings.TrimSuffix(parts[len(parts)-1], logEnd)}
	if len(parts) > 1 {
		ref.Agent = session.CleanAgent(strings.TrimLeft(parts[0], "-"))
	}
	return ref
}

// describe reads the beginning of a log: where the session works, and which one has
// called it.
func describe(dirs []*logfile.Dir, ref *session.Ref) {
	x := record{}
	for line := range bytes.Lines(readonly.Head(dirs[len(dirs)-1], filepath.Base(ref.Path), headBytes)) {
		x = record{}
		if records.Peek(&x, new(jsonl.Cursor), line); string(x.kind) == "session_start" {
			break
		}
	}
	readonly.WorksIn(ref, x.cwd)
	if session.SafeID(string(x.caller)) {
		ref.Kind, ref.Parent = session.KindSubagent, string(x.caller)
	}
}

// record is one line of a log.
type record struct {
	kind, id, time                   []byte
	cwd, caller                      []byte // of a log's first record
	role, visibility, model, content []byte // of a message
	summary                          []byte // of a compaction
}

// records is what is read of a record (docs/dev/formats.md, "droid").
var records = fields.New(func(x *record) []fields.Field {
	return []fields.Field{
		fields.Text("type", &x.kind),
		fields.Text("id", &x.id),
		fields.Raw("timestamp", &x.time),
		fields.Text("cwd", &x.cwd),
		fields.Text("callingSessionId", &x.caller),
		fields.Text("message.role", &x.role),
		fields.Text("message.visibility", &x.visibility),
		fields.Text("message.modelId", &x.model),
		fields.Raw("message.content", &x.content),
		fields.Text("summaryText", &x.summary),
	}
})

// scanner is the state of one scan.
type scanner struct {
	readonly.Lines
	record record
	cwd    []byte
}

func newScanner(o session.ScanOptions) readonly.Scanner {
	return &scanner{Lines: readonly.Lines{Runtime: session.RuntimeDroid, Thinking: o.Thinking}}
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
	is := readonly.Record{Known: true, Type: x.kind}
	is.Time, _, _ = session.ParseTime(x.time)
	switch string(x.kind) {
	case "session_start":
		s.Session(x.id)
		s.cwd = bytes.Clone(x.cwd)
	case "message":
		if is.Known = len(x.role) > 0; is.Known {
			s.said(x)
		}
	case "compaction_state":
		m := s.Add(session.Message{ID: x.id, Role: session.RoleSummary, Compaction: true, Directory: s.cwd})
		m.AddText(x.summary)
	case "agent_turn_outcome":
		s.Finished = true
	case "todo_state", "session_end":
	default:
		is.Known = false
	}
	return is, nil
}

// said adds the messages of a record.
func (s *scanner) said(x *record) {
	m := session.Message{Role: session.RoleAssistant, Model: x.model}
	switch string(x.role) {
	case "user":
		m = readonly.Said("")
		if string(x.visibility) == "llm_only" {
			m = readonly.Said("droid.context")
		}
	case "assistant":
	default:
		m = readonly.Odd(x.role)
	}
	m.ID, m.Directory = x.id, s.cwd
	s.Content(m, x.content)
}
