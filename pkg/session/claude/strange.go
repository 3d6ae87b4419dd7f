package claude

import (
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// strangers are the records of types that are not known on which others may hang. One is
// in the conversation if a message of the active branch hangs on it, or nothing was said
// since: a note beside the conversation has no message below it.
type strangers struct {
	below map[string]session.Doubt // by the records that stand on them: themselves, and links
	last  session.Doubt            // with no message of the active branch after it
}

// mostStrangers is how many records are remembered as links to strangers.
const mostStrangers = 4096

// strange takes a record of a type that is not known.
func (s *scanner) strange(r *jsonl.Record) {
	x := session.Strange{Runtime: session.RuntimeClaude, Type: s.record.name, Line: r.Line, Raw: r.Raw}
	x.Aside = kindOf(s.record.name) != unknown || s.record.sidechain && s.main
	doubt := x.Doubt()
	x.Aside = x.Aside || len(s.record.id) > 0
	s.lines.Result.Meet(x)
	if doubt != (session.Doubt{}) && x.Aside {
		s.strangers.last = doubt
		s.strangers.keep(s.record.id, doubt)
	}
}

func (t *strangers) keep(id []byte, d session.Doubt) {
	if t.below == nil {
		t.below = map[string]session.Doubt{}
	}
	if len(t.below) < mostStrangers {
		t.below[string(id)] = d
	}
}

// link takes a record that says nothing: what hangs on it hangs on what it hangs on.
func (t *strangers) link(x *record) {
	if d, ok := t.below[string(x.parent)]; ok && len(x.id) > 0 {
		t.keep(x.id, d)
	}
}

// reach takes a message of the active branch, and returns the stranger that it hangs on.
func (t *strangers) reach(x *record) session.Doubt {
	t.last = session.Doubt{}
	return t.below[string(x.parent)]
}
