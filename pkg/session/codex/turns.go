package codex

import (
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// keptBytes is how much of what a person said stays after a compaction that has
// no history of its own: Codex keeps 20,000 tokens of it, of about 4 bytes each.
const keptBytes = 80_000

// turns are what a rollback counts back through: the messages of the person, and
// the summary of a compaction without a history, which Codex counts as one.
type turns struct {
	all     []turn
	rebuilt int // so many of the first are what the last such compaction has left
	from    int // the first whose text is kept
	bytes   int // of the texts that are kept
}

// turn is one message.
type turn struct {
	node int              // of the tree
	said *session.Message // nil for a summary, and where too much was said since
}

func (t turn) size() (n int) {
	if t.said == nil {
		return 0
	}
	for i := range t.said.Parts {
		n += len(t.said.Parts[i].Text)
	}
	return n
}

// add takes in a message of the person.
func (t *turns) add(node int, m *session.Message) {
	said := clone(m)
	t.all = append(t.all, turn{node, &said})
	t.bytes += t.all[len(t.all)-1].size()
	for t.bytes > keptBytes && t.from < len(t.all)-1 {
		t.bytes -= t.all[t.from].size()
		t.all[t.from].said = nil
		t.from++
	}
}

// compact takes in a compaction without a history: of all before it only what the
// person said stays, and it is returned.
func (t *turns) compact(node int) []session.Message {
	said := t.said()
	t.all = slices.DeleteFunc(t.all, func(x turn) bool { return x.said == nil })
	t.all = append(t.all, turn{node: node})
	t.rebuilt, t.from = len(t.all), 0
	return said
}

// said are the messages of the person that stay, oldest first.
func (t *turns) said() (kept []session.Message) {
	for _, x := range t.all {
		if x.said != nil {
			kept = append(kept, clone(x.said))
		}
	}
	return kept
}

// rollBack leaves the last n. It returns the node at which what is left alone
// begins, false if there is nothing to leave. rebuilt is true if what stays is
// what a compaction without a history has left.
func (t *turns) rollBack(n int64) (start int, rebuilt, ok bool) {
	left := len(t.all) - int(min(max(n, 0), int64(len(t.all))))
	if left == len(t.all) {
		return 0, false, false
	}
	start, rebuilt = t.all[left].node, left < t.rebuilt
	for _, x := range t.all[left:] {
		t.bytes -= x.size()
	}
	t.all = t.all[:left]
	t.rebuilt, t.from = min(t.rebuilt, left), min(t.from, left)
	return start, rebuilt, true
}
