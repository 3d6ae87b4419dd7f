package browse

import (
	"fmt"
	"slices"
	"strings"
)

// matching are the sessions that have all words in what is known of them, and the
// nodes above them. The words are in small letters.
func matching(list []*node, words []string) (shown []*node) {
	for _, n := range list {
		below := matching(n.below, words)
		if len(below) > 0 || n.session != nil && n.session.has(words) {
			shown = append(append(shown, n), below...)
		}
	}
	return shown
}

func (s *Session) has(words []string) bool {
	text := strings.ToLower(strings.Join([]string{s.Runtime, s.Agent, s.ID, s.Name, s.Place, s.State, s.Archive}, "\n"))
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// filterPrompt asks for the words of the filter.
func (t *treeScreen) filterPrompt() *promptScreen {
	return &promptScreen{
		name: "show only", text: []rune(t.filter), does: "show",
		about: []string{"Words that a session has in its runtime, agent, name, file or state. Empty shows all.", "For example: openclaw over"},
		enter: func(m *Model, text string) Request {
			key := t.cursorKey(m)
			t.filter = text
			t.follow(m, key)
			return Request{}
		},
	}
}

// clear ends what chooses sessions: first the marks, then the filter.
func (t *treeScreen) clear(m *Model) {
	key := t.cursorKey(m)
	switch {
	case len(t.marked) > 0:
		m.say(plural(len(t.marked), "session") + " no longer marked")
		t.marked = nil
	case t.filter != "":
		t.filter = ""
		t.follow(m, key)
	default:
		m.say("q quits")
	}
}

// mark marks the session under the cursor, or what is below it, and takes marks off
// if all of that has one.
func (t *treeScreen) mark(m *Model) {
	sessions := t.sessionsAt(m)
	if t.marked == nil {
		t.marked = map[string]bool{}
	}
	all := !slices.ContainsFunc(sessions, func(n *node) bool { return !t.marked[n.key] })
	for _, n := range sessions {
		if all {
			delete(t.marked, n.key)
		} else {
			t.marked[n.key] = true
		}
	}
	if n := len(t.marked); n > 0 {
		m.say(plural(n, "session") + " marked: c, a, p and f act on them; esc takes the marks off")
	}
	if len(sessions) == 1 {
		t.move(Key{Name: "down"}, len(t.rows(m)))
	}
}

// sessionsAt are the session under the cursor, or those below it that the filter
// shows.
func (t *treeScreen) sessionsAt(m *Model) (sessions []*node) {
	current := t.current(m)
	if current == nil {
		return nil
	}
	below := []*node{current}
	if t.filter != "" && current.session == nil {
		below = matching(current.below, strings.Fields(strings.ToLower(t.filter)))
	} else if current.session == nil {
		below = leaves(current.below)
	}
	return slices.DeleteFunc(slices.Clone(below), func(n *node) bool { return n.session == nil })
}

// leaves are the sessions of a part of the tree.
func leaves(list []*node) (sessions []*node) {
	for _, n := range list {
		if n.session != nil {
			sessions = append(sessions, n)
		}
		sessions = append(sessions, leaves(n.below)...)
	}
	return sessions
}

// actOnMarked asks for the plan of an action on every marked session.
func (t *treeScreen) actOnMarked(m *Model, action Action) Request {
	if action == Undo {
		m.say("undo takes one session at a time: esc takes the marks off")
		return Request{}
	}
	r := Request{Do: MakePlan, Action: action}
	left := 0
	for _, n := range leaves(m.nodes) {
		switch {
		case !t.marked[n.key]:
		case n.session.gone() && (action == Archive || action == Compact):
			left++
		default:
			r.Parts = append(r.Parts, Part{Target: n.target()})
		}
	}
	if len(r.Parts) == 0 {
		m.say(fmt.Sprintf("of what is marked only archives are left: there is nothing to %s", action))
		return Request{}
	}
	r.Target.Name = plural(len(r.Parts), "session")
	if left > 0 {
		r.Target.Name += fmt.Sprintf(" (%d more are only in the archive)", left)
	}
	return m.await("making the plan", r)
}
