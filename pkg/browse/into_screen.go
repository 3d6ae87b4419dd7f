package browse

import "slices"

// intoScreen asks in which runtime a session goes on.
type intoScreen struct {
	list
	target Target
	names  []string
}

// goOn asks in which runtime the session below the cursor goes on.
func (t *treeScreen) goOn(m *Model) Request {
	n := t.current(m)
	switch {
	case n == nil || n.session == nil:
		m.say("choose a session to go on with in another agent")
		return Request{}
	case len(t.marked) > 0:
		m.say("one session goes on at a time: esc unmarks")
		return Request{}
	}
	target := n.target()
	if n.session.gone() {
		target.Session = n.session.Archive
	}
	names := slices.DeleteFunc(slices.Clone(m.home.Into), func(name string) bool { return name == target.Runtime })
	if len(names) == 0 {
		m.say("the stores are still being read")
		return Request{}
	}
	m.show(&intoScreen{target: target, names: names})
	return Request{}
}

func (s *intoScreen) title() string { return "go on with " + s.target.Name + " in" }

func (s *intoScreen) press(m *Model, k Key) Request {
	if s.move(k, len(s.names)) {
		return Request{}
	}
	switch {
	case slices.Contains([]string{"enter", "o", "right", "l"}, k.Name):
		s.target.Into = s.names[s.at]
		return m.await("reading what would arrive", Request{Do: MakePlan, Action: Continue, Target: s.target})
	case k.Name == "?":
		m.show(keysScreen())
	case isBack(k):
		m.back()
	}
	return Request{}
}

func (s *intoScreen) hints(*Model) []hint {
	return []hint{{"enter", "show what would arrive there"}, {"esc", "back"}}
}

func (s *intoScreen) body(_ *Model, _, height int) (lines []Line) {
	top, end := s.window(len(s.names), height)
	for i := top; i < end; i++ {
		style, mark := Plain, "  "
		if i == s.at {
			style, mark = Cursor, "> "
		}
		lines = append(lines, Line{{mark + s.names[i], style}})
	}
	return lines
}
