package browse

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Model is the state of the browser. Make it with [New].
type Model struct {
	home    Home
	by      Sort
	nodes   []*node
	screens []screen // the last is shown
	message string   // shown until the next key
	warn    bool     // the message is about a failure
	job     *job     // what is waited for, nil for nothing
	serial  int
	loading bool
	loads   int             // serial of the load that is under way
	done    []Result        // of this sitting
	chosen  map[string]bool // columns that the person has shown or hidden
	width   int             // of the screen, as it was drawn last
}

// job is a request that is waited for.
type job struct {
	serial      int
	request     Request
	what        string
	done, total int64
	stopping    bool
	seconds     int // that it has taken
}

// changes reports whether it carries out a plan: what was begun is ended.
func (j *job) changes() bool { return j.request.Do == Carry }

// screen is one thing that is shown at a time.
type screen interface {
	title() string
	press(m *Model, k Key) Request
	body(m *Model, width, height int) []Line
	hints(m *Model) []hint
}

// hint says what a key does.
type hint struct{ key, does string }

// Key is a key press: its name ("up", "ctrl+c", "a") and the text that it types.
type Key struct {
	Name, Text string
}

// New makes a browser that shows nothing yet, and the request that fills it.
func New(by Sort) (*Model, Request) {
	m := &Model{by: by, home: Home{}}
	m.screens = []screen{&treeScreen{}}
	return m, m.load()
}

func (m *Model) load() Request {
	m.serial++
	m.loads, m.loading = m.serial, true
	return Request{Do: Load, Serial: m.serial}
}

func (m *Model) shown() screen { return m.screens[len(m.screens)-1] }

func (m *Model) show(s screen) { m.screens = append(m.screens, s) }

// replace puts a screen in the place of the one that is shown, unless that is the
// tree.
func (m *Model) replace(s screen) {
	m.back()
	m.show(s)
}

// back leaves the screen that is shown. The tree stays.
func (m *Model) back() {
	if len(m.screens) > 1 {
		m.screens = m.screens[:len(m.screens)-1]
	}
}

// await makes a request that the person waits for.
func (m *Model) await(what string, r Request) Request {
	m.serial++
	r.Serial = m.serial
	m.job = &job{serial: m.serial, request: r, what: what}
	return r
}

// Press takes a key and returns what is to be done.
func (m *Model) Press(k Key) Request {
	if k.Name == "alt+esc" { // pressed twice, quickly
		k.Name = "esc"
	}
	if k.Name == "ctrl+z" {
		return Request{Do: Suspend}
	}
	if m.job != nil {
		return m.pressWaiting(k)
	}
	m.message, m.warn = "", false
	if k.Name == "ctrl+c" {
		return Request{Do: Quit}
	}
	return m.shown().press(m, k)
}

// pressWaiting is Press while something is under way: it can only be broken off.
func (m *Model) pressWaiting(k Key) Request {
	if k.Name != "esc" && k.Name != "ctrl+c" && k.Name != "q" {
		return Request{}
	}
	if m.job.changes() {
		m.job.stopping = true // the answer says how far it came
		return Request{Do: Cancel}
	}
	m.job = nil
	m.say("broken off")
	return Request{Do: Cancel}
}

// Paste takes text that was pasted.
func (m *Model) Paste(text string) {
	if p, ok := m.shown().(*promptScreen); ok && m.job == nil {
		p.insert(text)
	}
}

func (m *Model) say(message string) { m.message, m.warn = message, false }

// Progress takes how far a request has come.
func (m *Model) Progress(serial int, what string, done, total int64) {
	if m.job == nil || m.job.serial != serial {
		return
	}
	if what != "" {
		m.job.what = what
	}
	m.job.done, m.job.total = done, total
}

// Tick takes that a request takes another second. It reports whether the request
// is still waited for.
func (m *Model) Tick(serial int) bool {
	if m.job == nil || m.job.serial != serial {
		return false
	}
	m.job.seconds++
	return true
}

// take reports whether an answer is still waited for, and ends the waiting.
func (m *Model) take(serial int) bool {
	if m.job == nil || m.job.serial != serial {
		return false
	}
	m.job = nil
	return true
}

// Loaded takes the home, or the first part of it.
func (m *Model) Loaded(serial int, home Home) {
	if serial != m.loads {
		return
	}
	m.loading = !home.Complete
	first := m.nodes == nil
	t := m.tree()
	cursor := t.cursorKey(m)
	m.home = home
	m.nodes = tree(&m.home, m.by)
	if first && len(m.nodes) > 0 {
		t.open = unfold(m.nodes)
	}
	t.follow(m, cursor)
	there := leaves(m.nodes)
	maps.DeleteFunc(t.marked, func(key string, _ bool) bool {
		return !slices.ContainsFunc(there, func(n *node) bool { return n.key == key })
	})
	if home.Complete && len(home.Notes) > 0 && m.message == "" {
		m.message, m.warn = home.Notes[0], true
		if n := len(home.Notes) - 1; n > 0 {
			m.message = fmt.Sprintf("(%d more: n) %s", n, m.message)
		}
	}
}

func (m *Model) tree() *treeScreen { return m.screens[0].(*treeScreen) }

// Failed takes that a request could not be answered.
func (m *Model) Failed(serial int, f Failure) {
	if !m.take(serial) {
		return
	}
	text := []Text{{Text: f.Message, Style: Warning}}
	if f.Hint != "" {
		text = append(text, Text{}, Text{Text: f.Hint})
	}
	m.show(&textScreen{name: "that did not work", lines: text})
}

// Opened takes a page of a session.
func (m *Model) Opened(serial int, p Page) {
	if !m.take(serial) {
		return
	}
	s := newReader(p)
	before, reading := m.shown().(*textScreen)
	if !reading || before.page == nil {
		m.show(s)
		m.say(p.Note)
		return
	}
	m.replace(s)
	m.say(p.Note)
	if s.find = before.find; before.seeking != 0 {
		s.arrive(m, before.seeking)
	}
}

// Answered takes what the memory has found. note says something about it, "" for
// nothing.
func (m *Model) Answered(serial int, question string, hits []Hit, note string) {
	if !m.take(serial) {
		return
	}
	if len(hits) == 0 {
		m.show(&promptScreen{text: []rune(question)})
		m.message, m.warn = note, true
		return
	}
	m.show(&hitsScreen{question: question, hits: hits})
	m.say(note)
}

// listUndoable asks for what can be undone.
func (m *Model) listUndoable(of Target) Request {
	return m.await("looking for what can be undone", Request{Do: List, Target: of})
}

// Listed takes what can be undone.
func (m *Model) Listed(serial int, of Target, doings []Doing) {
	if !m.take(serial) {
		return
	}
	if len(doings) == 0 {
		m.say("nothing of " + of.Name + " can be undone: nothing was compacted or deleted, or it was undone already")
		return
	}
	m.show(&undoScreen{doings: doings})
}

// Planned takes what an action would do.
func (m *Model) Planned(serial int, r Request, p Plan) {
	if !m.take(serial) {
		return
	}
	s := &planScreen{request: r, plan: p}
	if _, again := m.shown().(*planScreen); again {
		m.replace(s)
	} else {
		m.show(s)
	}
}

// Ended takes what an action has done, and asks for the home as it is now.
func (m *Model) Ended(serial int, r Result) Request {
	ended := m.job
	if !m.take(serial) {
		return Request{}
	}
	m.screens = m.screens[:1]
	m.done = append(m.done, r)
	m.tree().marked = nil
	style := Plain
	if r.Failed {
		style = Warning
	}
	s := &textScreen{name: r.Title, lines: plainText(r.Text, style)}
	if a := ended.request.Action; (a == Compact || a == Delete) && len(ended.request.Parts) == 0 {
		s.undoable = &ended.request.Target
	}
	m.show(s)
	return m.load()
}

// showDone shows what was done since the browser began, the last first.
func (m *Model) showDone() {
	if len(m.done) == 0 {
		m.say("nothing was done yet")
		return
	}
	var lines []Text
	for _, r := range slices.Backward(m.done) {
		style := Strong
		if r.Failed {
			style = Warning
		}
		lines = append(lines, Text{Text: r.When + "  " + r.Title, Style: style})
		for _, line := range plainText(r.Text, Plain) {
			lines = append(lines, Text{Text: "  " + line.Text, Indent: line.Indent + 2})
		}
		lines = append(lines, Text{})
	}
	m.show(&textScreen{name: "what was done since the start: " + plural(len(m.done), "action"), lines: lines})
}

// plainText is a text as lines; the first has a style.
func plainText(text string, first Style) (lines []Text) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		lines = append(lines, Text{Text: line, Indent: indent + 2})
	}
	if len(lines) > 0 {
		lines[0].Style = first
	}
	return lines
}

// isBack are the keys that leave a screen.
func isBack(k Key) bool {
	return slices.Contains([]string{"esc", "q", "left", "h", "backspace"}, k.Name)
}
