package state

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/work"
)

// Bounds of what a reader holds.
const (
	quoteBytes = 16 << 10 // of what somebody said: half of it from the end
	quoteRunes = 4000     // of that, in a State
	stepRunes  = 300
	errorRunes = 300
	maxSteps   = 12
	maxOpen    = 256 // calls that wait for their results
	maxFiles   = 1024
	toldFiles  = 40
	maxFailing = 48
	shortWords = 8 // a request of fewer words is told with the one before it
)

// Reader makes a [State] from the messages of one session, in the order of the log.
// It is for one goroutine. The zero Reader has seen nothing.
type Reader struct {
	messages int
	time     int64
	lastLine int

	plan            planner
	request, before said
	word            said
	agentLast       bool // the agent has said something since the request
	requests        int

	steps   []step // the last ones, and those that wait for a result
	files   map[string]*file
	failing []step
	touched int
	cursor  jsonl.Cursor
	calls   []partCall // of the last message
}

// partCall is the call that one part of a message is.
type partCall struct {
	part int
	call Call
}

// said is what somebody said, as it stands in the log.
type said struct {
	text string
	at   Place
}

type step struct {
	call     Call
	at       Place
	answered bool
	ending   work.Ending
	requests int // of people before it
}

type file struct {
	File
	order int
}

// Add takes in the next message. Messages of abandoned branches, and those that the
// runtime never sent to the model, are passed over. Nothing of m is kept.
func (r *Reader) Add(m *session.Message) {
	clear(r.calls)
	r.calls = r.calls[:0]
	if m.Branch != session.Active || m.OutOfContext {
		return
	}
	r.messages++
	r.time, r.lastLine = max(r.time, m.Time), max(r.lastLine, m.Line)
	at := Place{Line: m.Line, Message: m.Ordinal + 1}
	switch m.Role {
	case session.RoleUser:
		r.person(m.Said(), at)
	case session.RoleAssistant:
		r.agent(m, at)
	case session.RoleToolResult:
		r.result(m)
	case session.RoleShell:
		r.shell(m, at)
	}
}

func (r *Reader) person(text []byte, at Place) {
	if len(text) == 0 {
		return
	}
	if len(bytes.Fields(r.requestText())) >= shortWords {
		r.before = r.request
	}
	r.request, r.agentLast = said{ends(text), at}, false
	r.requests++
	r.plan.since++
	for i := range r.steps { // nobody waits for it any more
		r.steps[i].call.id = ""
	}
}

func (r *Reader) requestText() []byte { return []byte(r.request.text) }

func (r *Reader) agent(m *session.Message, at Place) {
	if text := m.Said(); len(text) > 0 {
		r.word, r.agentLast = said{ends(text), at}, true
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartToolCall {
			r.called(i, p, at)
		}
	}
}

func (r *Reader) called(part int, p *session.Part, at Place) {
	tool := string(p.Name)
	if isPlanTool(tool) && r.plan.call(tool, p.Text, at) {
		return
	}
	if bytes.Contains(p.Text, []byte(`"task_progress"`)) { // Cline has the list beside every call
		r.plan.call(tool, progressOf(&r.cursor, p.Text), at)
	}
	c := callOf(&r.cursor, p)
	r.calls = append(r.calls, partCall{part, c})
	r.push(step{call: c, at: at})
}

// CallOf reads a part of the message that was added last. A call that was read already is
// not read again.
func (r *Reader) CallOf(m *session.Message, part int) Call {
	for _, known := range r.calls {
		if known.part == part {
			return known.call
		}
	}
	return callOf(&r.cursor, &m.Parts[part])
}

// progressOf is the list that a call has beside its own arguments.
func progressOf(c *jsonl.Cursor, raw []byte) []byte {
	c.Reset(raw)
	for ok := c.EnterObject(); ok && c.NextKey(); {
		if string(c.Key()) == "task_progress" {
			return slices.Clone(c.Raw())
		}
	}
	return nil
}

// push keeps a call. Of the oldest ones only those stay that wait for a result.
func (r *Reader) push(s step) {
	s.requests = r.requests
	r.steps = append(r.steps, s)
	if len(r.steps) > maxOpen+maxSteps {
		r.steps = slices.Delete(r.steps, 0, maxOpen/2)
	}
}

func (r *Reader) result(m *session.Message) {
	for i := len(r.steps) - 1; i >= 0; i-- {
		s := &r.steps[i]
		same := s.call.id == string(m.CallID) && s.call.id != "" || len(m.CallID) == 0 && s.call.id == "" && (len(m.ToolName) == 0 || s.call.Tool == string(m.ToolName))
		if same && !s.answered {
			s.answered, s.ending = true, work.EndingOf(m, s.call.Tool)
			r.ended(s)
			return
		}
	}
}

// shell takes in a command that a person ran by hand, with or before its output.
func (r *Reader) shell(m *session.Message, at Place) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartCommand && len(p.Text) > 0 {
			r.push(step{call: Call{Kind: work.KindCommand, Command: command(p.Text)}, at: at, answered: true, ending: work.EndingOf(m, "bash")})
			r.ended(&r.steps[len(r.steps)-1])
		}
	}
}

// command is a command line of bounded length.
func command(text []byte) string {
	text, _ = secrets.RedactBytes(text)
	return string(text[:min(len(text), argumentBytes)])
}

// ended takes in how a call ended: what works settles the failures of the same.
func (r *Reader) ended(s *step) {
	key := s.key()
	if key != "" && !s.ending.Failed {
		r.failing = slices.DeleteFunc(r.failing, func(f step) bool { return f.key() == key })
	}
	switch {
	case s.ending.Failed && key != "" && !s.onlyLooked():
		r.failing = slices.DeleteFunc(r.failing, func(f step) bool { return f.key() == key })
		if r.failing = append(r.failing, *s); len(r.failing) > maxFailing {
			r.failing = slices.Delete(r.failing, 0, 1)
		}
	case !s.ending.Failed:
		r.touch(s)
	}
}

// key is what two calls have in common of which the second does what the first was to:
// the program and its verb, or the tool and its file.
func (s *step) key() string {
	if s.call.Command != "" {
		return "$ " + Verb(s.call.Command)
	}
	if len(s.call.Paths) > 0 && s.call.changes() {
		return "edit " + s.call.Paths[0]
	}
	if s.call.Kind != "" { // a look elsewhere puts right that nothing was found
		return ""
	}
	return s.call.Tool
}

// onlyLooked tells whether a command that failed without a word has only found nothing.
func (s *step) onlyLooked() bool {
	return s.call.Command != "" && Looks(s.call.Command) && (len(s.ending.Errors) == 0 || s.ending.Exit == 1)
}

// touch counts the files of a call that worked.
func (r *Reader) touch(s *step) {
	paths := s.call.Paths
	switch {
	case s.call.Command != "":
		paths = shown(s.call.Command)
	case s.call.Kind != work.KindRead && !s.call.changes():
		return
	}
	if r.files == nil {
		r.files = map[string]*file{}
	}
	for _, path := range paths {
		f := r.files[path]
		if f == nil {
			f = &file{File: File{Path: path}}
			r.files[path] = f
		}
		r.touched++
		if s.call.changes() {
			f.Edits++
			f.Removed = slices.Contains(s.call.deleted, path)
		} else {
			f.Reads++
		}
		if s.call.changes() || f.Edits == 0 {
			f.Place, f.order = s.at, r.touched
		}
	}
	if len(r.files) > maxFiles {
		for _, old := range r.inHand()[maxFiles/2:] {
			delete(r.files, old.Path)
		}
	}
}

// inHand are the files, changed ones first, each kind newest first.
func (r *Reader) inHand() []*file {
	return slices.SortedFunc(maps.Values(r.files), func(a, b *file) int {
		return cmp.Or(cmp.Compare(min(b.Edits, 1), min(a.Edits, 1)), cmp.Compare(b.order, a.order), strings.Compare(a.Path, b.Path))
	})
}

// ends is the beginning and the end of what somebody said, of bounded length.
// Secrets go before it is cut: of a part of a key nothing tells that it is one.
func ends(text []byte) string {
	text, _ = secrets.RedactBytes(text)
	if len(text) <= quoteBytes {
		return string(text)
	}
	return string(bytes.ToValidUTF8(text[:quoteBytes/2], nil)) + "\n…\n" + string(bytes.ToValidUTF8(text[len(text)-quoteBytes/2:], nil))
}

// State is where the work stands after the messages that were added. It can be asked
// for again after more messages.
func (r *Reader) State() State {
	s := State{Messages: r.messages, Time: r.time, Plan: r.plan.plan(), requests: r.requests}
	s.Request, s.Word = r.request.quote(), r.word.quote()
	if len(strings.Fields(r.request.text)) < shortWords {
		s.Before = r.before.quote()
	}
	for _, x := range r.steps[max(0, len(r.steps)-maxSteps):] {
		s.Steps = append(s.Steps, x.told())
	}
	for _, f := range r.inHand()[:min(len(r.files), toldFiles)] {
		f.Path = Safe(f.Path)
		s.Files = append(s.Files, f.File)
	}
	for _, x := range slices.Backward(r.failing) {
		s.Failing = append(s.Failing, x.told())
	}
	s.Unanswered = r.unanswered()
	if r.lastLine != 1 {
		s.byLine()
	}
	return s
}

func (x said) quote() *Quote {
	if x.text == "" {
		return nil
	}
	return &Quote{Both(Safe(x.text), quoteRunes), x.at}
}

func (s *step) told() Step {
	t := Step{Tool: s.call.Tool, Text: Cut(Safe(s.call.Title()), stepRunes), Outcome: "no result", Place: s.at, command: s.call.Command != "", requests: s.requests}
	if s.answered {
		t.Outcome = outcome(s.ending)
		t.Error = Cut(strings.Join(s.ending.Errors, " "), errorRunes)
	}
	return t
}

// unanswered are the question that the agent's last word ends with, if nobody spoke
// since, and a person's message that the agent said nothing to.
func (r *Reader) unanswered() (open []Quote) {
	if !r.agentLast {
		if r.request.text == "" {
			return nil
		}
		return []Quote{*r.request.quote()}
	}
	if question := LastQuestion(r.word.text); question != "" {
		open = append(open, Quote{Cut(Safe(question), quoteRunes), r.word.at})
	}
	return open
}

// LastQuestion is the sentence that a text ends with, if that is a question.
func LastQuestion(text string) string {
	text = strings.TrimRight(strings.TrimSpace(text), "*_ )")
	if !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, "？") {
		return ""
	}
	body := strings.TrimRight(text, "?？")
	at := max(strings.LastIndex(body, "\n"), strings.LastIndex(body, ". "), strings.LastIndex(body, "! "), strings.LastIndex(body, "? "), strings.LastIndex(body, "。"))
	if at < 0 {
		return text
	}
	return strings.TrimSpace(strings.TrimLeft(text[at:], ".!?。 \n"))
}

// byLine leaves places to their lines.
func (s *State) byLine() {
	for _, q := range []*Quote{s.Request, s.Before, s.Word} {
		if q != nil {
			q.Message = 0
		}
	}
	if s.Plan != nil {
		s.Plan.Message = 0
	}
	for i := range s.Unanswered {
		s.Unanswered[i].Message = 0
	}
	for i := range s.Files {
		s.Files[i].Message = 0
	}
	for _, steps := range [][]Step{s.Steps, s.Failing} {
		for i := range steps {
			steps[i].Message = 0
		}
	}
}
