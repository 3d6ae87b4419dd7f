package browse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// textScreen shows a text: a part of a session, the result of an action, the keys.
type textScreen struct {
	name  string
	lines []Text
	page  *Page // of a session, nil for any other text
	// undoable is what an action that can be undone was of whose result this is, nil
	// for any other text.
	undoable *Target
	find     string // what is looked for in it, in small letters
	found    int    // row of wrapped that it was found in last, -1 for none
	seeking  int    // of the part that is left: in which direction the next is searched

	top     int
	anchor  int // line of the text that is at the top when the width changes
	width   int // that wrapped is for
	wrapped []wrappedLine
	height  int
}

// wrappedLine is a row of a text on the screen.
type wrappedLine struct {
	text  string
	style Style
	of    int // index of its line
}

func newReader(p Page) *textScreen {
	return &textScreen{name: p.Place.Title, lines: p.Lines, page: &p, anchor: p.At, found: -1}
}

func (s *textScreen) title() string {
	if s.page == nil || s.page.Last == 0 {
		return s.name
	}
	return fmt.Sprintf("%s  lines %d-%d", s.name, s.page.First, s.page.Last)
}

// wrap breaks the lines where the screen ends.
func (s *textScreen) wrap(width int) {
	if s.width == width {
		return
	}
	if s.wrapped != nil && s.top < len(s.wrapped) {
		s.anchor = s.wrapped[s.top].of
	}
	s.width, s.wrapped, s.found = width, nil, -1
	for i, line := range s.lines {
		for _, row := range breakLine(safe(line.Text), max(width, 1), line.Indent) {
			s.wrapped = append(s.wrapped, wrappedLine{row, line.Style, i})
		}
	}
	s.top = 0
	for i, w := range s.wrapped {
		if w.of == s.anchor {
			s.top = i
			break
		}
	}
}

// breakLine breaks a line at spaces where it can, so that no part is wider than
// width. What follows the first part is indented.
func breakLine(text string, width, indent int) (rows []string) {
	if indent >= width/2 {
		indent = 0
	}
	if plainASCII(text) && len(text) <= width {
		return []string{text}
	}
	room, lead := width, ""
	for ansi.StringWidth(text) > room {
		head := ansi.Truncate(text, room, "")
		if head == "" { // a rune that is wider than the screen
			return append(rows, lead+"?")
		}
		if i := strings.LastIndexByte(head, ' '); i > len(head)/3 && strings.TrimSpace(head[:i]) != "" {
			head = head[:i+1]
		}
		rows = append(rows, lead+strings.TrimRight(head, " "))
		text = strings.TrimLeft(text[len(head):], " ")
		lead = strings.Repeat(" ", indent)
		room = width - indent
	}
	if text != "" || len(rows) == 0 {
		rows = append(rows, lead+text)
	}
	return rows
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func (s *textScreen) press(m *Model, k Key) Request {
	last := max(len(s.wrapped)-s.height, 0)
	page := max(s.height-1, 1)
	by, moved := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "ctrl+b": -page, "b": -page, "pgdown": page, "ctrl+f": page, "space": page, "enter": 1,
	}[k.Name]
	switch {
	case moved:
		return s.scroll(m, by, last)
	case k.Name == "home" || k.Name == "g":
		if s.page != nil && s.page.Before {
			return s.read(m, func(p *Place) { p.From = 1 })
		}
		s.top = 0
	case k.Name == "end" || k.Name == "G":
		if s.page != nil && s.page.After {
			return s.read(m, func(p *Place) { p.End = true })
		}
		s.top = last
	case k.Name == "u" && s.undoable != nil:
		return m.listUndoable(*s.undoable)
	case k.Name == "/":
		m.show(s.findPrompt())
	case k.Name == "n":
		return s.next(m, 1)
	case k.Name == "N":
		return s.next(m, -1)
	case k.Name == "]":
		s.ask(m, 1)
	case k.Name == "[":
		s.ask(m, -1)
	case k.Name == "i" && s.page != nil:
		return m.copied(s.page.Place.Session.ID)
	case k.Name == "m":
		m.show(&promptScreen{})
	case k.Name == "L":
		m.showDone()
	case k.Name == "?":
		if s.name != keysTitle {
			m.show(keysScreen())
		}
	case isBack(k):
		m.back()
	}
	return Request{}
}

// scroll moves the text. Beyond its ends the next part of the log is read.
func (s *textScreen) scroll(m *Model, by, last int) Request {
	switch {
	case by > 0 && s.top >= last && s.page != nil && s.page.After:
		return s.read(m, func(p *Place) { p.From = s.page.Last + 1 })
	case by < 0 && s.top == 0 && s.page != nil && s.page.Before:
		return s.read(m, func(p *Place) { p.Until = s.page.First - 1 })
	}
	s.top = max(min(s.top+by, last), 0)
	return Request{}
}

// read asks for another part of the same log.
func (s *textScreen) read(m *Model, where func(*Place)) Request {
	place := s.page.Place
	place.From, place.Until, place.End, place.First, place.Last = 0, 0, false, 0, 0
	where(&place)
	return m.await("reading", Request{Do: Read, Place: place})
}

func (s *textScreen) body(_ *Model, width, height int) (lines []Line) {
	s.height = height
	s.wrap(width - 2)
	if s.page != nil && s.page.Place.End && s.anchor == len(s.lines) {
		s.top = len(s.wrapped)
	}
	s.top = max(min(s.top, len(s.wrapped)-height), 0)
	for i, w := range s.wrapped[s.top:min(s.top+height, len(s.wrapped))] {
		mark, style := " ", w.style
		if s.has(s.top + i) {
			style = Marked
		}
		if s.find != "" && s.top+i == s.found {
			mark = ">"
		}
		lines = append(lines, Line{{mark + w.text, style}})
	}
	if s.anchor = 0; s.top < len(s.wrapped) {
		s.anchor = s.wrapped[s.top].of
	}
	return lines
}

func (s *textScreen) hints(*Model) []hint {
	where := "all"
	if rest := len(s.wrapped) - s.height; rest > 0 {
		where = fmt.Sprintf("%d%%", 100*s.top/rest)
	}
	hints := []hint{{"esc", "back"}}
	if s.undoable != nil {
		hints = append(hints, hint{"u", "undo"})
	}
	if s.page == nil && where == "all" {
		return hints
	}
	hints = append(hints, hint{"↑↓ space", "scroll (" + where + ")"}, hint{"/", "search here"})
	if s.find != "" {
		hints = append(hints, hint{"n N", "next, previous"})
	}
	if s.page != nil {
		hints = append(hints, hint{"]", "next question"})
	}
	return append(hints, hint{"g G", "first, last"}, hint{"m", "ask memory"})
}

const keysTitle = "keys"

// keysScreen says what every key does.
func keysScreen() *textScreen {
	var lines []Text
	for _, group := range [][]hint{
		{{"↑ ↓  j k", "move; PgUp, PgDn, space: by a page; g, G: first, last"}, {"enter  →", "open a runtime or an agent; read a session"}, {"esc  ←", "back"}, {"s", "sort by size, tokens, age or name"}, {"&", "show only sessions with some words; esc ends it"}},
		{{"/  m", "ask the memory what was said; enter on a hit opens the session at that line"}, {"/  n N", "in a text: search in it; the next, the previous"}, {"]  [", "in a session: the next question of a person, the one before"}},
		{{"x", "mark a session, or all below an agent; then c, a, d, p and f act on all that is marked"}, {"i", "copy the id of a session, for a command"}, {"v", "choose the columns"}},
		{
			{"c", "compact: archive, remember, and make the context small"},
			{"a", "archive: make a verified copy and remember it; the session stays as it is"},
			{"o", "go on with a session in another agent; the session stays as it is"},
			{"u", "undo a compaction, or bring back what was deleted"},
			{"d", "delete a session once it is archived and remembered: its files go into the trash"},
			{"T", "what is in the trash, and to empty it; the archives stay"},
			{"f", "forget what the memory has of a session or an agent; archives stay"},
			{"p", "pin a session, or let it go: what is pinned is never deleted by clean or archives prune"},
		},
		{{"L", "what was done since the start"}, {"r", "look again"}, {"n", "notes about stores that could not be read"}, {"ctrl+z", "suspend; fg comes back"}, {"q  ctrl+c", "quit; while something is under way esc and ctrl+c break it off"}},
	} {
		for _, h := range group {
			lines = append(lines, Text{Text: fmt.Sprintf("%-10s %s", h.key, h.does), Indent: 11})
		}
		lines = append(lines, Text{})
	}
	lines = append(lines, Text{Text: "c, a, o, u, d, T, f and p show first what they would do, and change nothing before you say yes.", Style: Strong})
	return &textScreen{name: keysTitle, lines: lines}
}

// ask goes to what a person said next on the page, or before, in the direction by.
func (s *textScreen) ask(m *Model, by int) {
	for row := s.top + by; row >= 0 && row < len(s.wrapped); row += by {
		of := s.wrapped[row].of
		if s.lines[of].Asks && (row == 0 || s.wrapped[row-1].of != of) {
			s.top = row
			return
		}
	}
	m.say(map[bool]string{true: "nobody asks anything below, on this page", false: "nobody asks anything above, on this page"}[by > 0])
}

// findPrompt asks what to look for in the text.
func (s *textScreen) findPrompt() *promptScreen {
	return &promptScreen{
		name: "search in this text", text: []rune(s.find), does: "search",
		about: []string{"Large and small letters are the same. n goes to the next, N to the one before; m asks the memory."},
		enter: func(m *Model, text string) Request {
			s.find, s.found = strings.ToLower(safe(text)), -1
			if s.find == "" {
				return Request{}
			}
			return s.next(m, 1)
		},
	}
}

// has reports whether a row has what is looked for. What is longer than a row, or
// broken between two, is found in the first of its line.
func (s *textScreen) has(row int) bool {
	if s.find == "" || row < 0 || row >= len(s.wrapped) {
		return false
	}
	if strings.Contains(strings.ToLower(s.wrapped[row].text), s.find) {
		return true
	}
	of := s.wrapped[row].of
	if row > 0 && s.wrapped[row-1].of == of || !strings.Contains(strings.ToLower(safe(s.lines[of].Text)), s.find) {
		return false
	}
	for i := row; i < len(s.wrapped) && s.wrapped[i].of == of; i++ {
		if strings.Contains(strings.ToLower(s.wrapped[i].text), s.find) {
			return false
		}
	}
	return true
}

// next goes to the next row that has what is looked for, in the direction by. Beyond
// the end of a part of a session the next part is read.
func (s *textScreen) next(m *Model, by int) Request {
	if s.find == "" {
		m.show(s.findPrompt())
		return Request{}
	}
	from := s.found + by
	if s.found < 0 {
		from = s.top
	}
	if row := s.search(from, by); row >= 0 {
		s.reach(m, row)
		return Request{}
	}
	if s.page != nil && (by > 0 && s.page.After || by < 0 && s.page.Before) {
		s.seeking = by
		if by > 0 {
			return s.read(m, func(p *Place) { p.From = s.page.Last + 1 })
		}
		return s.read(m, func(p *Place) { p.Until = s.page.First - 1 })
	}
	m.say(map[bool]string{true: "not found below: N searches above", false: "not found above: n searches below"}[by > 0])
	return Request{}
}

// search returns the first row from one on that has it, -1 if there is none.
func (s *textScreen) search(from, by int) int {
	for row := from; row >= 0 && row < len(s.wrapped); row += by {
		if s.has(row) {
			return row
		}
	}
	return -1
}

// reach shows a row that has it, and says which of how many it is.
func (s *textScreen) reach(m *Model, row int) {
	s.found = row
	if row < s.top || row >= s.top+s.height {
		s.top = max(row-s.height/3, 0)
	}
	at, all := 0, 0
	for i := range s.wrapped {
		if s.has(i) {
			all++
			if i <= row {
				at++
			}
		}
	}
	m.say(fmt.Sprintf("%d of %d", at, all))
}

// arrive goes on with a search in a part of a session that was just read.
func (s *textScreen) arrive(m *Model, by int) {
	s.wrap(max(m.width-2, 1))
	from := 0
	if by < 0 {
		from = len(s.wrapped) - 1
	}
	if row := s.search(from, by); row >= 0 {
		s.reach(m, row)
		return
	}
	m.say(fmt.Sprintf("not in lines %d to %d: %s goes on", s.page.First, s.page.Last, map[bool]string{true: "n", false: "N"}[by > 0]))
	if s.found = 0; by > 0 {
		s.found = len(s.wrapped) - 1
	}
}

// promptScreen asks for a text: a question to the memory, unless enter says what to
// do with it.
type promptScreen struct {
	text  []rune
	name  string
	does  string   // what enter does
	about []string // what to type
	enter func(m *Model, text string) Request
}

const mostQuestion = 1000 // runes

func (p *promptScreen) title() string { return cmp.Or(p.name, "ask memory") }

func (p *promptScreen) insert(text string) {
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if len(p.text) < mostQuestion {
			p.text = append(p.text, r)
		}
	}
}

func (p *promptScreen) press(m *Model, k Key) Request {
	switch k.Name {
	case "esc":
		m.back()
	case "enter":
		m.back()
		text := strings.TrimSpace(string(p.text))
		if p.enter != nil {
			return p.enter(m, text)
		}
		if text == "" {
			return Request{}
		}
		return m.await("asking the memory", Request{Do: Recall, Question: text})
	case "backspace":
		p.text = p.text[:max(len(p.text)-1, 0)]
	case "ctrl+u":
		p.text = nil
	case "space":
		p.text = append(p.text, ' ')
	default:
		if len(p.text) < mostQuestion {
			p.text = append(p.text, []rune(k.Text)...)
		}
	}
	return Request{}
}

func (p *promptScreen) body(_ *Model, width, height int) (lines []Line) {
	text := safe(string(p.text))
	room := width - 4
	for ansi.StringWidth(text) > room && text != "" { // the end of a long question is what is typed
		runes := []rune(text)
		text = string(runes[1:])
	}
	lines = append(lines, Line{{" > ", Strong}, {text, Plain}, {"█", Cursor}})
	if height > 4 {
		lines = append(lines, Line{})
		about := p.about
		if p.enter == nil {
			about = []string{
				"Memory knows what was said in sessions that were archived and remembered (a) or compacted (c).",
				"For example: which port did we choose for the importer",
			}
		}
		for _, line := range about {
			lines = append(lines, rowsOf(line, Dim, width)...)
		}
	}
	return lines
}

func (p *promptScreen) hints(*Model) []hint {
	return []hint{{"enter", cmp.Or(p.does, "ask")}, {"esc", "back"}}
}

// hitsScreen shows what the memory has found.
type hitsScreen struct {
	list
	question string
	hits     []Hit
}

func (h *hitsScreen) title() string {
	return plural(len(h.hits), "answer") + " from memory to: " + h.question
}

func (h *hitsScreen) press(m *Model, k Key) Request {
	if h.move(k, len(h.hits)) {
		return Request{}
	}
	switch {
	case k.Name == "enter" || k.Name == "right" || k.Name == "l":
		hit := h.hits[h.at]
		if hit.Place.Archive == "" {
			m.show(&textScreen{name: hit.Heading, lines: append([]Text{{Text: "Only the memory has this: there is no archive of it.", Style: Dim}, {}}, plainText(hit.Text, Plain)...)})
			return Request{}
		}
		return m.await("reading", Request{Do: Read, Place: hit.Place})
	case k.Name == "/":
		m.replace(&promptScreen{text: []rune(h.question)})
	case k.Name == "?":
		m.show(keysScreen())
	case isBack(k):
		m.back()
	}
	return Request{}
}

func (h *hitsScreen) hints(*Model) []hint {
	return []hint{{"enter", "open at that line"}, {"esc", "back"}, {"/", "ask again"}}
}

func (h *hitsScreen) body(_ *Model, width, height int) (lines []Line) {
	each := 4 // lines of a hit: its heading, its text, a blank one
	if height < 12 {
		each = 2
	}
	top, end := h.window(len(h.hits), max(height/each, 1))
	for i := top; i < end; i++ {
		hit, style, mark := h.hits[i], Strong, "  "
		if i == h.at {
			style, mark = Cursor, "> "
		}
		lines = append(lines, Line{{mark + hit.Heading, style}})
		text := strings.Join(strings.Fields(hit.Excerpt), " ")
		rows := breakLine(safe(text), max(width-6, 1), 0)
		for k := range min(max(each-2, 1), len(rows)) {
			lines = append(lines, Line{{"    " + rows[k], Plain}})
		}
		if each > 2 {
			lines = append(lines, Line{})
		}
	}
	return lines
}

// undoScreen lists what can be undone.
type undoScreen struct {
	list
	doings []Doing
}

func (u *undoScreen) title() string { return "what can be undone, the newest first" }

func (u *undoScreen) press(m *Model, k Key) Request {
	if u.move(k, len(u.doings)) {
		return Request{}
	}
	switch {
	case k.Name == "enter" || k.Name == "u" || k.Name == "right" || k.Name == "l":
		return m.await("making the plan", Request{Do: MakePlan, Action: Undo, Target: u.doings[u.at].Target})
	case k.Name == "?":
		m.show(keysScreen())
	case isBack(k):
		m.back()
	}
	return Request{}
}

func (u *undoScreen) hints(*Model) []hint {
	return []hint{{"enter", "show what undoing it would do"}, {"esc", "back"}}
}

func (u *undoScreen) body(_ *Model, _, height int) (lines []Line) {
	top, end := u.window(len(u.doings), height)
	for i := top; i < end; i++ {
		style, mark := Plain, "  "
		if i == u.at {
			style, mark = Cursor, "> "
		}
		d := u.doings[i]
		lines = append(lines, Line{{mark + d.When + "  " + d.What, style}})
	}
	return lines
}

// intoScreen asks in which runtime a session goes on.
type intoScreen struct {
	list
	target Target
	names  []string
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

// planScreen shows what an action would do, and asks whether to do it.
type planScreen struct {
	request Request
	plan    Plan
	text    *textScreen
	seen    bool // its end was shown
}

func (p *planScreen) title() string { return cmp.Or(p.plan.Title, "the plan") }

func (p *planScreen) press(m *Model, k Key) Request {
	switch {
	case p.plan.Question != "" && k.Name == "y" && !p.seen:
		m.say("there is more of the plan: ↓ or G shows it; then y")
	case p.plan.Question != "" && k.Name == "y":
		return m.await(string(p.request.Action), Request{
			Do: Carry, Action: p.request.Action, Target: p.request.Target, Force: p.request.Force, Of: p.plan.Of, Parts: p.plan.Parts,
		})
	case p.plan.Force != "" && k.Name == "F":
		return m.await("making the plan", Request{Do: MakePlan, Action: p.request.Action, Target: p.request.Target, Parts: p.request.Parts, Force: true})
	case k.Name == "n" || isBack(k):
		m.back()
		m.say("nothing was changed")
	case k.Name == "?":
		m.show(keysScreen())
	case p.text != nil && !slices.Contains([]string{"enter", "/", "m", "L", "N"}, k.Name):
		p.text.press(m, k)
	case k.Name == "enter" && p.plan.Question != "":
		m.say("press y to do it, n to leave everything as it is")
	}
	return Request{}
}

func (p *planScreen) hints(*Model) []hint {
	if p.plan.Question == "" {
		return []hint{{"esc", "back"}}
	}
	if !p.seen {
		return []hint{{"↓ G", "more of the plan"}, {"n", "no"}}
	}
	return []hint{{"y", "yes, do it"}, {"n", "no"}}
}

func (p *planScreen) body(m *Model, width, height int) (lines []Line) {
	if p.text == nil {
		p.text = &textScreen{name: keysTitle, lines: plainText(p.plan.Text, Plain)}
	}
	var asks []Line
	if p.plan.Question != "" {
		asks = append(asks, rowsOf(p.plan.Question+"  y: yes, n: no", Strong, width)...)
	}
	if p.plan.Force != "" {
		asks = append(asks, rowsOf("F: "+p.plan.Force, Dim, width)...)
	}
	room := max(height-len(asks)-1, 1)
	lines = p.text.body(m, width, room)
	p.seen = p.seen || p.text.top+room >= len(p.text.wrapped)
	if len(lines)+len(asks) < height {
		lines = append(lines, Line{})
	}
	return append(lines, asks...)
}

// rowsOf is one line, broken to fit.
func rowsOf(text string, style Style, width int) (lines []Line) {
	for _, row := range breakLine(safe(text), max(width-2, 1), 0) {
		lines = append(lines, Line{{" " + row, style}})
	}
	return lines
}
