package gemini

import (
	"hash/maphash"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// seen remembers what was said: a few bytes for each message, its text, its
// calls and their results. The values are nodes of the tree.
type seen struct {
	seed    maphash.Seed
	ids     map[uint64]int
	texts   map[uint64]int
	calls   map[uint64]int
	results map[uint64]int
	scratch []byte
}

func newSeen() *seen {
	return &seen{
		seed: maphash.MakeSeed(), ids: map[uint64]int{}, texts: map[uint64]int{}, calls: map[uint64]int{}, results: map[uint64]int{},
	}
}

func (s *seen) hash(b []byte) uint64 { return maphash.Bytes(s.seed, b) }

// textHash is of who says what, without calls.
func (s *seen) textHash(m *session.Message) (uint64, bool) {
	s.scratch = append(s.scratch[:0], byte(m.Role))
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartText {
			s.scratch = append(append(s.scratch, p.Text...), '\n')
		}
	}
	return s.hash(s.scratch), len(s.scratch) > 1
}

// add remembers a message that is said at a node.
func (s *seen) add(m *session.Message, node int) {
	if m.Role == session.RoleToolResult {
		if len(m.CallID) > 0 {
			s.results[s.hash(m.CallID)] = node
		}
		return
	}
	if hash, ok := s.textHash(m); ok {
		s.texts[hash] = node
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartToolCall && len(p.CallID) > 0 {
			s.calls[s.hash(p.CallID)] = node
		}
	}
}

// strip takes out of a group what was said before: calls and results by their
// ids, and of a copy, texts and images too. It returns the node of the first
// thing that was said before, -1 if there was none.
func (s *seen) strip(g *group, isCopy bool) (node int) {
	node = -1
	_, known := s.ids[s.hash(g.id)]
	found := func(at int, ok bool) bool {
		if ok && (node < 0 || at < node) {
			node = at
		}
		return ok
	}
	g.messages = slices.DeleteFunc(g.messages, func(m session.Message) bool {
		if m.Role != session.RoleToolResult || len(m.CallID) == 0 {
			return false
		}
		at, ok := s.results[s.hash(m.CallID)]
		return found(at, ok)
	})
	for i := range g.messages {
		m := &g.messages[i]
		hash, hasText := s.textHash(m)
		at, said := s.texts[hash]
		said = said && hasText && isCopy && found(at, true)
		m.Parts = slices.DeleteFunc(m.Parts, func(p session.Part) bool {
			switch p.Kind {
			case session.PartText:
				return said
			case session.PartImage, session.PartThinking:
				return said || isCopy && known
			}
			at, ok := s.calls[s.hash(p.CallID)]
			return len(p.CallID) > 0 && found(at, ok)
		})
	}
	if isCopy {
		g.messages = slices.DeleteFunc(g.messages, func(m session.Message) bool { return len(m.Parts) == 0 })
	}
	return node
}
