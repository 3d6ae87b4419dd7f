package work

import (
	"bytes"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Reader makes actions of the messages of one session. It holds the calls whose
// results have not come yet, a bounded number of them, and nothing else.
type Reader struct {
	emit    func(*Action) error
	counts  Counts
	open    []call // calls that wait for their results, oldest first
	waiting int    // actions of them
	behind  []call // commands that go on in the background, oldest first
	cursor  jsonl.Cursor
	details jsonl.Cursor
}

// call is a call of a tool that waits for its result.
type call struct {
	id      string // as the log names it; calls of old logs have none
	tool    string
	verb    verb
	task    string    // of a command in the background, or of a call that asks after one
	actions []*Action // none if the call is of no kind, or was not understood
}

// Bounds of what waits for results. Runtimes have some ten calls open at a time.
const (
	maxOpen    = 512
	maxWaiting = 2048 // actions of open calls
	maxBehind  = 64   // commands in the background
)

// NewReader returns a reader that hands every action to emit: when its result
// has come, so in the order of the results, and those without a result at
// [Reader.Close]. The result of a command that goes on in the background is that
// of the call that tells its end. The action is emit's to keep.
//
// The messages come from a scan with [session.ScanOptions.Details]; without it
// spans of changed lines are missing.
func NewReader(emit func(*Action) error) *Reader { return &Reader{emit: emit} }

// Add takes in the next message of the session, in file order. It keeps nothing
// of it. An error is that of emit.
func (r *Reader) Add(m *session.Message) error {
	switch m.Role {
	case session.RoleToolResult:
		return r.result(m)
	case session.RoleShell:
		return r.shell(m)
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartToolCall {
			if err := r.call(m, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close hands out the calls that no result has come for and returns what was
// seen. An error is that of emit.
func (r *Reader) Close() (Counts, error) {
	for len(r.open) > 0 {
		if err := r.giveUp(); err != nil {
			return r.counts, err
		}
	}
	for len(r.behind) > 0 {
		if err := r.endBehind(0); err != nil {
			return r.counts, err
		}
	}
	return r.counts, nil
}

// call takes in a call of a tool.
func (r *Reader) call(m *session.Message, p *session.Part) error {
	r.counts.Calls++
	tool := clean(p.Name, maxTool)
	c, asked := readCall(&r.cursor, tool.text, p.Text)
	c.id = string(p.CallID)
	switch asked {
	case notOurs:
		r.counts.Others++
	case notUnderstood:
		r.counts.Unreadable++
	}
	for _, a := range c.actions {
		a.Redacted += tool.redacted
		place(a, m, c.tool)
	}
	if answersItself(&c, p) {
		for _, a := range c.actions {
			a.Answered, a.Ended, a.Result = true, a.Time, a.Call
		}
		return r.tell(c.actions)
	}
	return r.wait(c)
}

// answersItself reports whether no result follows a call: the runtime writes it
// when it is done (Codex), or its provider runs the tool (Claude Code).
func answersItself(c *call, p *session.Part) bool {
	return len(p.CallID) == 0 && c.tool == "web_search" || bytes.HasPrefix(p.CallID, []byte("srvtoolu_"))
}

// place says where and when the call of an action was made.
func place(a *Action, m *session.Message, tool string) {
	a.Tool, a.Time, a.Branch, a.Carried, a.Call = tool, m.Time, m.Branch, m.Carried, placeOf(m)
	if len(m.Directory) > 0 {
		in := clean(m.Directory, MaxPath)
		a.Directory = joined(in.text, a.Directory)
		a.Redacted += in.redacted
	}
}

func placeOf(m *session.Message) Place {
	return Place{
		Ordinal: m.Ordinal, FirstLine: m.Line, LastLine: max(m.Line, m.LastLine),
		FirstByte: m.Offset, EndByte: m.Offset + m.Length,
	}
}

// wait keeps a call for its result. When there are too many, the oldest one is
// given up.
func (r *Reader) wait(c call) error {
	for len(r.open) >= maxOpen || len(r.open) > 0 && r.waiting+len(c.actions) > maxWaiting {
		if err := r.giveUp(); err != nil {
			return err
		}
	}
	r.open = append(r.open, c)
	r.waiting += len(c.actions)
	return nil
}

// giveUp hands out the oldest open call without a result.
func (r *Reader) giveUp() error {
	r.counts.Unanswered++
	return r.tell(r.take(0).actions)
}

func (r *Reader) take(i int) call {
	c := r.open[i]
	r.open = slices.Delete(r.open, i, i+1)
	r.waiting -= len(c.actions)
	return c
}

func (r *Reader) tell(actions []*Action) error {
	for _, a := range actions {
		r.counts.Actions++
		if err := r.emit(a); err != nil {
			return err
		}
	}
	return nil
}

// result takes in what came of a call.
func (r *Reader) result(m *session.Message) error {
	i := r.find(m)
	if i < 0 {
		if !m.OutOfContext { // what the screen showed of a call that is answered
			r.counts.Orphans++
		}
		return nil
	}
	c := r.take(i)
	t := readDetails(&r.details, m.Details)
	if c.verb == follows {
		return r.follow(&c, m, &t)
	}
	r.conclude(&c, m, &t)
	if c.task = goesOn(&c, m, &t); c.task != "" {
		return r.leaveBehind(c)
	}
	return r.tell(c.actions)
}

// find returns the open call that a result is of, the newest one with its id;
// for a result without an id the oldest one of its tool without an id. It is -1
// if there is none.
func (r *Reader) find(m *session.Message) int {
	if len(m.CallID) == 0 {
		return slices.IndexFunc(r.open, func(c call) bool {
			return c.id == "" && c.verb != byHand && (len(m.ToolName) == 0 || c.tool == string(m.ToolName))
		})
	}
	for i := len(r.open) - 1; i >= 0; i-- {
		if r.open[i].id == string(m.CallID) {
			return i
		}
	}
	return -1
}

// conclude adds to the actions of a call what its result tells.
func (r *Reader) conclude(c *call, m *session.Message, t *told) {
	if len(c.actions) == 0 {
		return
	}
	how := outcomeOf(m, c, t)
	for _, a := range c.actions {
		a.Answered, a.Ended, a.Result = true, m.Time, placeOf(m)
		a.Failed, a.Errors = how.failed, how.errors
		if a.Kind == KindCommand {
			a.Exit, a.HasExit = how.exit, how.hasExit
		}
		a.Redacted += how.redacted
		how.redacted = 0 // counted once
		if !a.Failed {
			t.spanOf(a)
		}
	}
}

// shell takes in a command that a person ran by hand. Claude Code writes its
// output as the next message.
func (r *Reader) shell(m *session.Message) error {
	i := slices.IndexFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartCommand })
	if i < 0 {
		if open := slices.IndexFunc(r.open, func(c call) bool { return c.verb == byHand }); open >= 0 {
			c := r.take(open)
			r.conclude(&c, m, &told{})
			return r.tell(c.actions)
		}
		return nil
	}
	r.counts.Calls++
	text := clean(m.Parts[i].Text, MaxCommand)
	if text.text == "" {
		r.counts.Unreadable++
		return nil
	}
	c := call{verb: byHand, actions: []*Action{{Kind: KindCommand, Command: text.text, Redacted: text.redacted}}}
	place(c.actions[0], m, "")
	if len(m.Parts) == 1 && !m.HasExit {
		return r.wait(c)
	}
	r.conclude(&c, m, &told{})
	return r.tell(c.actions)
}
