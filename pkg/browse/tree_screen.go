package browse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// treeScreen shows runtimes, agents and sessions.
type treeScreen struct {
	list
	open   map[string]bool
	filter string          // words that shown sessions have, "" for all
	marked map[string]bool // keys of sessions
}

func (t *treeScreen) title() string { return "" }

func (t *treeScreen) rows(m *Model) []*node {
	if t.filter != "" {
		return matching(m.nodes, strings.Fields(strings.ToLower(t.filter)))
	}
	return rows(m.nodes, t.open)
}

// current is the node under the cursor, nil if there is none.
func (t *treeScreen) current(m *Model) *node {
	all := t.rows(m)
	if t.at < 0 || t.at >= len(all) {
		return nil
	}
	return all[t.at]
}

func (t *treeScreen) cursorKey(m *Model) string {
	if n := t.current(m); n != nil {
		return n.key
	}
	return ""
}

// follow puts the cursor on the node with a key. One that is gone leaves it where
// it is.
func (t *treeScreen) follow(m *Model, key string) {
	all := t.rows(m)
	if i := slices.IndexFunc(all, func(n *node) bool { return n.key == key }); i >= 0 {
		t.at = i
	}
	t.at = max(min(t.at, len(all)-1), 0)
}

func (t *treeScreen) press(m *Model, k Key) Request {
	if t.move(k, len(t.rows(m))) {
		return Request{}
	}
	switch k.Name {
	case "q":
		return Request{Do: Quit}
	case "esc":
		t.clear(m)
	case "enter", "right", "l":
		return t.enter(m, k.Name == "enter")
	case "left", "h", "backspace":
		t.leave(m)
	case "s":
		t.sort(m, (m.by+1)%Sort(len(Sorts())))
	case "/", "m":
		m.show(&promptScreen{})
	case "&":
		m.show(t.filterPrompt())
	case "x":
		t.mark(m)
	case "L":
		m.showDone()
	case "?":
		m.show(keysScreen())
	case "n":
		m.showNotes()
	case "r":
		return m.load()
	case "i":
		return t.copy(m)
	case "o":
		return t.goOn(m)
	case "v":
		m.show(&columnsScreen{})
	case "T":
		return m.await("looking into the trash", Request{Do: MakePlan, Action: Empty})
	case "a", "c", "d", "f", "p", "u":
		return t.act(m, k.Name)
	default:
		if k.Text != "" {
			m.say("? shows the keys")
		}
	}
	return Request{}
}

// enter opens or folds what has something below it, and reads a session.
func (t *treeScreen) enter(m *Model, toggle bool) Request {
	n := t.current(m)
	switch {
	case n == nil:
		return Request{}
	case n.session == nil && t.filter != "":
		m.say("the filter shows all that fits; esc ends it")
		return Request{}
	case n.session == nil:
		if t.open == nil {
			t.open = map[string]bool{}
		}
		t.open[n.key] = !toggle || !t.open[n.key]
		return Request{}
	}
	place := Place{Session: *n.session, From: 1, Title: cmp.Or(n.session.Project, n.session.Agent) + "  " + n.session.Name}
	if n.session.gone() {
		place.Archive = n.session.Archive
	}
	return m.await("reading", Request{Do: Read, Place: place})
}

// leave folds a node, or goes to the one above it.
func (t *treeScreen) leave(m *Model) {
	all := t.rows(m)
	n := t.current(m)
	if n == nil {
		return
	}
	if t.open[n.key] && t.filter == "" {
		delete(t.open, n.key)
		return
	}
	for i := t.at - 1; i >= 0; i-- {
		if all[i].level < n.level {
			t.at = i
			return
		}
	}
}

func (t *treeScreen) sort(m *Model, by Sort) {
	key := t.cursorKey(m)
	m.by = by
	order(m.nodes, by)
	t.follow(m, key)
	m.say("sorted by " + []string{"size: the largest first", "tokens: the fullest context first", "age: unused for longest first", "name"}[by])
}

// act asks for the plan of an action.
func (t *treeScreen) act(m *Model, key string) Request {
	n := t.current(m)
	if n == nil {
		m.say("there is nothing to choose")
		return Request{}
	}
	action := map[string]Action{"a": Archive, "c": Compact, "d": Delete, "f": Forget, "p": Pin, "u": Undo}[key]
	if len(t.marked) > 0 {
		return t.actOnMarked(m, action)
	}
	target := n.target()
	switch {
	case n.session == nil && t.filter != "":
		m.say("the filter hides a part of this: x marks what is shown, esc ends the filter")
		return Request{}
	case action == Undo:
		return m.listUndoable(target)
	case n.level == 0 && (action == Forget || action == Pin):
		m.say("choose an agent or a session to " + string(action))
		return Request{}
	case n.level == 1 && action == Pin:
		m.say("choose a session to pin")
		return Request{}
	case n.session == nil && action == Delete:
		m.say("choose a session to delete; x marks all of an agent, and then d deletes what is marked")
		return Request{}
	case n.session != nil && n.session.gone() && action.needsLog():
		m.say("only its archive is left: there is nothing to " + string(action))
		return Request{}
	}
	return m.await("making the plan", Request{Do: MakePlan, Action: action, Target: target})
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

// needsLog reports whether an action does nothing where only archives are left.
func (a Action) needsLog() bool { return a == Archive || a == Compact || a == Delete }

// copy puts the id of a session, or the name of an agent, on the clipboard.
func (t *treeScreen) copy(m *Model) Request {
	n := t.current(m)
	if n == nil {
		return Request{}
	}
	of := n.target()
	return m.copied(cmp.Or(of.Session, of.Agent, of.Runtime))
}

// copied copies an id, and shows it where the terminal does not take it.
func (m *Model) copied(id string) Request {
	m.say("copied, if the terminal takes it: " + id)
	return Request{Do: Copy, Text: id}
}

// target is what an action on a node is about.
func (n *node) target() Target {
	if n.session != nil {
		s := n.session
		return Target{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Store: s.Store, Path: s.Path, Name: cmp.Or(s.Name, s.ID)}
	}
	runtime, agent, _ := strings.Cut(n.key, "\x00")
	return Target{Runtime: runtime, Agent: agent, Name: n.name}
}

func (m *Model) showNotes() {
	if len(m.home.Notes) == 0 {
		m.say("there are no notes")
		return
	}
	var lines []Text
	for _, note := range m.home.Notes {
		lines = append(lines, Text{Text: note, Indent: 2}, Text{})
	}
	m.show(&textScreen{name: "notes", lines: lines})
}

func (t *treeScreen) hints(m *Model) []hint {
	open := "open"
	if n := t.current(m); n != nil && n.session != nil {
		open = "read"
	}
	if n := len(t.marked); n > 0 {
		return []hint{{"esc", "unmark"}, {"x", "mark"}, {"c", fmt.Sprintf("compact %d", n)}, {"a", "archive"}, {"d", "delete"}, {"p", "pin"}, {"f", "forget"}}
	}
	return []hint{{"enter", open}, {"/", "ask memory"}, {"c", "compact"}, {"u", "undo"}, {"a", "archive"}, {"&", "filter"}, {"x", "mark"}, {"d", "delete"}, {"o", "go on elsewhere"}, {"s", "sort"}, {"i", "copy id"}, {"v", "columns"}, {"f", "forget"}, {"p", "pin"}}
}

func (t *treeScreen) body(m *Model, width, height int) []Line {
	if len(m.nodes) == 0 {
		return t.nothing(m, width, height)
	}
	var lines []Line
	if height > 4 {
		shown := m.columnsOf(width)
		lines = append(lines, shown.heading(m.by, width))
		height--
	}
	details := height > 8
	if details {
		height -= 2
	}
	all := t.rows(m)
	if len(all) == 0 {
		return append(lines, Line{{"  nothing has all of these words: " + t.filter, Strong}})
	}
	top, end := t.window(len(all), height)
	for i := top; i < end; i++ {
		lines = append(lines, t.row(m, all[i], i == t.at, width))
	}
	if details {
		for range height - (end - top) {
			lines = append(lines, Line{})
		}
		lines = append(lines, Line{{strings.Repeat("─", width), Dim}}, Line{{" " + t.details(m, all[t.at]), Dim}})
	}
	return lines
}

// nothing is the tree without a session.
func (t *treeScreen) nothing(m *Model, width, height int) []Line {
	text := []Text{{Text: "looking for sessions …"}}
	if !m.loading || m.home.Problem != "" {
		text = []Text{{Text: cmp.Or(m.home.Problem, "no sessions here yet: start an agent, and press r"), Style: Strong}}
		if m.home.Hint != "" {
			text = append(text, Text{}, Text{Text: m.home.Hint})
		}
	}
	s := &textScreen{lines: text}
	return s.body(m, width, height)
}

// details says more of the node under the cursor.
func (t *treeScreen) details(m *Model, n *node) string {
	s := n.session
	if s == nil {
		return fmt.Sprintf("%s: %s, %s, %s", n.name, counted(n.sessions, n.beside), formatBytes(n.bytes), n.tokenText()+" tokens")
	}
	parts := []string{}
	if s.Title != "" {
		parts = append(parts, s.Title)
	}
	if s.State != "" {
		parts = append(parts, s.State)
	}
	if s.Archive != "" && !s.gone() {
		parts = append(parts, "archive "+short(s.Archive))
	}
	if s.gone() {
		parts = append(parts, "archive "+s.Archive+"; enter reads it")
	} else {
		parts = append(parts, cmp.Or(s.Place, s.Path))
	}
	return strings.Join(parts, " · ")
}

func short(id string) string { return id[:min(len(id), 8)] }

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
	text := strings.ToLower(strings.Join([]string{s.Runtime, s.Agent, s.Project, s.ID, s.Name, s.Title, s.Place, s.State, s.Archive}, "\n"))
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
		m.say(plural(n, "session") + " marked: c, a, d, p and f act on them; esc takes the marks off")
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
		case n.session.gone() && action.needsLog():
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
