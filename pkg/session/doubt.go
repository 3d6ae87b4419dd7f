package session

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// Strange is a record of a type that its adapter does not know.
type Strange struct {
	Runtime string // whose log it is in, as in [Ref.Runtime]
	What    string // before its type where it is counted: "item ", "part "
	Type    []byte
	Line    int    // 1-based
	Raw     []byte // the record
	Data    []byte // of a record that is an envelope: what is in it, raw JSON
	Sent    bool   // it stands where nothing but what is sent stands
	Aside   bool   // it is on a branch that was left, or of another agent
}

// Doubt is the first record that may change what of the others is sent, and of which
// nobody here knows whether it does. The zero value is none.
type Doubt struct {
	Type string
	Line int // 1-based, in the log of the session
}

// Reason says in which log, and that nobody can tell; "" without a doubt.
func (d Doubt) Reason(path string) string {
	if d == (Doubt{}) {
		return ""
	}
	return ReasonDoubt.Text(d.Type, fmt.Sprintf("%s:%d", path, d.Line))
}

// habits are what is known of how a runtime keeps records that change its context.
type habits struct {
	link  []string // members that every record has on which others may hang
	types []string // of records that are known to change it, and are not read
}

// habitsOf are the habits of runtimes whose logs have more in them than what is sent
// (docs/dev/formats.md). Of all others, what a record says decides.
var habitsOf = map[string]habits{
	RuntimePi:       {link: []string{"id"}},
	RuntimeOMP:      {link: []string{"id"}},
	RuntimeOpenClaw: {link: []string{"id"}},
	RuntimeClaude: {
		link:  []string{"uuid", "parentUuid"},
		types: []string{"content-replacement", "fork-context-ref", "marble-origami-commit", "marble-origami-reset"},
	},
	RuntimeQwen: {link: []string{"uuid", "parentUuid"}},
	RuntimeCopilot: {types: []string{
		"session.context_cleared", "session.handoff", "session.import_legacy", "session.snapshot_rewind", "session.truncation",
	}},
}

// mayChange reports whether the record may change what the runtime sends: it does by its
// type, it is a link of the conversation, or it says something as a message does. Any
// other record of a type that is not known is bookkeeping.
func (x *Strange) mayChange() bool {
	of := habitsOf[x.Runtime]
	switch {
	case x.Sent, slices.Contains(of.types, string(x.Type)):
		return true
	case x.Data != nil:
		return says(x.Data)
	case of.link != nil:
		return has(x.Raw, of.link)
	}
	return says(x.Raw)
}

// Meet counts a record of a type that is not known, and notes it as a doubt if it may
// change the context.
func (s *Scan) Meet(x Strange) {
	if len(x.Type) == 0 {
		x.Type = operator(x.Raw)
	}
	s.CountUnknown(x.What, x.Type)
	s.NoteDoubt(x.Doubt())
}

// NoteDoubt keeps a doubt if it is one, and the first in the log.
func (s *Scan) NoteDoubt(d Doubt) {
	if d != (Doubt{}) && (s.Doubt == (Doubt{}) || d.Line < s.Doubt.Line) {
		s.Doubt = d
	}
}

// settle forgets a doubt that a compaction has taken out of the context: it keeps nothing
// of before, or begins with a record after the doubt.
func (s *Scan) settle(m *Message) {
	if m.Compaction && (len(m.FirstKept) == 0 || s.DoubtSince[recordKey(m.FirstKept)]) {
		s.Doubt, s.DoubtSince = Doubt{}, nil
		return
	}
	if s.DoubtSince == nil {
		s.DoubtSince = map[uint64]bool{}
	}
	s.DoubtSince[recordKey(m.ID)] = true
	for _, key := range m.Passed {
		s.DoubtSince[key] = true
	}
}

// Doubt is the record as a doubt, none if it changes nothing.
func (x *Strange) Doubt() Doubt {
	if x.Aside || !x.mayChange() {
		return Doubt{}
	}
	return Doubt{string(x.Type[:min(len(x.Type), maxUnknownName)]), x.Line}
}

// operator is the first member of an object that is called as one ("$set"), nil for none.
func operator(raw []byte) (name []byte) {
	eachMember(raw, func(key string, _ *jsonl.Cursor) {
		if name == nil && isOperator(key) {
			name = []byte(key)
		}
	})
	return name
}

func isOperator(key string) bool { return len(key) > 1 && key[0] == '$' }

// has reports whether an object has all of some members, of any value: the first record
// of a log hangs on null.
func has(raw []byte, members []string) bool {
	found := 0
	eachMember(raw, func(key string, _ *jsonl.Cursor) {
		if slices.Contains(members, key) {
			found++
		}
	})
	return found >= len(members)
}

// says reports whether an object has what messages have: somebody who says it, a list of
// what is said, a message or a list of them, or an operator ("$set").
func says(raw []byte) (yes bool) {
	eachMember(raw, func(key string, c *jsonl.Cursor) {
		kind := c.Kind()
		switch key {
		case "role":
			yes = yes || kind == jsonl.String
		case "message":
			yes = yes || kind == jsonl.Object
		case "content", "parts":
			yes = yes || kind == jsonl.Array
		default:
			yes = yes || isOperator(key) || kind == jsonl.Array && begunByMessage(c)
		}
	})
	return yes
}

// begunByMessage reports whether the first element of a list is said by somebody.
func begunByMessage(c *jsonl.Cursor) (yes bool) {
	if c.EnterArray() && c.NextElement() && c.Kind() == jsonl.Object {
		eachMember(c.Raw(), func(key string, _ *jsonl.Cursor) { yes = yes || key == "role" })
	}
	return yes
}

// eachMember yields the members of an object. The cursor stands before the value.
func eachMember(raw []byte, yield func(key string, c *jsonl.Cursor)) {
	var c jsonl.Cursor
	c.Reset(bytes.TrimSpace(raw))
	for ok := c.EnterObject(); ok && c.NextKey(); {
		yield(string(c.Key()), &c)
	}
}
