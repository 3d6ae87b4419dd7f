package browse

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Session is one session as the tree shows it.
type Session struct {
	Runtime, Agent, ID string
	Project            string // what people call its agent; "" for its name
	Name               string // for people: its key or its id
	Title              string // what it is about, "" if that is not known
	Store              string // the root of its store
	Path               string // of its log, "" if only archives of it are left
	Place              string // the same, for people
	Beside             bool   // it is not counted as a session: of a sub-agent, closed, only in the archive
	Closed             bool   // its runtime does not go on with it: it has no context
	State              string // for people
	Warn               bool   // the state needs attention: over the threshold, unreadable
	Bytes              int64  // on the disk
	Tokens             int64  // its context
	Measured           bool   // Tokens are known
	Used               time.Time
	Archive            string // id of its newest archive, "" without one
}

// gone reports a session of which only archives are left.
func (s Session) gone() bool { return s.Path == "" }

func (s Session) key() string {
	return strings.Join([]string{s.Runtime, s.Agent, cmp.Or(s.Path, "archive "+s.ID)}, "\x00")
}

// Home is everything that can be browsed.
type Home struct {
	Sessions []Session
	Now      time.Time
	Archives int64    // bytes of all archives
	Memory   int64    // bytes of the memory
	Trash    int64    // bytes of deleted files that can be brought back
	Into     []string // runtimes in which a session can go on
	Notes    []string
	// Problem says why there is nothing to show, "" if there is, and Hint what to
	// do about it.
	Problem, Hint string
	Complete      bool // everything was measured; else more comes
}

// Sort is the order of the tree.
type Sort int

// The orders of the tree: the largest on the disk first, the largest context, the
// one that was used longest ago, and by name.
const (
	ByBytes Sort = iota
	ByTokens
	ByAge
	ByName
)

// Sorts are the names of the orders, as --sort takes them.
func Sorts() []string { return []string{"bytes", "tokens", "age", "name"} }

// node is a runtime, an agent or a session with the figures of what is below it.
type node struct {
	key      string
	name     string
	level    int // 0 runtime, 1 agent, 2 session
	bytes    int64
	tokens   int64
	used     time.Time // last
	sessions int
	beside   int  // of sessions: not counted as one
	measured bool // all of it
	most     int64
	session  *Session
	below    []*node
}

// tree groups sessions by runtime and agent.
func tree(home *Home, by Sort) []*node {
	top := map[string]*node{}
	var all []*node
	called := home.called()
	within := func(list *[]*node, key, name string, level int) *node {
		n, ok := top[key]
		if !ok {
			n = &node{key: key, name: name, level: level, measured: true}
			top[key] = n
			*list = append(*list, n)
		}
		return n
	}
	for i := range home.Sessions {
		s := &home.Sessions[i]
		runtime := within(&all, s.Runtime, s.Runtime, 0)
		agent := within(&runtime.below, s.Runtime+"\x00"+s.Agent, cmp.Or(called(s), "(no agent)"), 1)
		leaf := &node{key: s.key(), name: s.Name, level: 2, measured: true, session: s}
		agent.below = append(agent.below, leaf)
		for _, n := range []*node{runtime, agent, leaf} {
			n.take(s)
		}
	}
	order(all, by)
	return all
}

// called says what people call the agents of sessions. One that shares that with another
// of its runtime, such as that of a worktree, has its own name beside it.
func (h *Home) called() func(*Session) string {
	type project struct{ runtime, name string }
	agents := map[project]string{}
	several := map[project]bool{}
	for i := range h.Sessions {
		s := &h.Sessions[i]
		of := project{s.Runtime, s.Project}
		first, known := agents[of]
		several[of] = several[of] || known && first != s.Agent
		agents[of] = s.Agent
	}
	return func(s *Session) string {
		switch {
		case s.Project == "" || s.Project == s.Agent:
			return s.Agent
		case several[project{s.Runtime, s.Project}]:
			return s.Project + " (" + s.Agent + ")"
		}
		return s.Project
	}
}

// take adds the figures of a session.
func (n *node) take(s *Session) {
	n.bytes += s.Bytes
	n.tokens += s.Tokens
	n.sessions++
	if s.Beside {
		n.beside++
	}
	n.measured = n.measured && (s.Measured || s.Closed || s.gone())
	if s.Used.After(n.used) {
		n.used = s.Used
	}
}

// counted is how many sessions there are, as sizes counts them, and what else is listed.
func counted(listed, beside int) string {
	text := plural(listed-beside, "session")
	if beside > 0 {
		text += " and " + plural(beside, "other")
	}
	return text
}

// order sorts nodes and what is below them, and notes the largest of each list.
func order(list []*node, by Sort) {
	slices.SortStableFunc(list, func(x, y *node) int {
		first := 0
		switch by {
		case ByBytes:
			first = cmp.Compare(y.bytes, x.bytes)
		case ByTokens:
			first = cmp.Compare(y.tokens, x.tokens)
		case ByAge:
			first = x.used.Compare(y.used)
		case ByName:
		}
		return cmp.Or(first, strings.Compare(x.name, y.name), strings.Compare(x.key, y.key))
	})
	most := int64(0)
	for _, n := range list {
		most = max(most, n.figure(by))
	}
	for _, n := range list {
		n.most = most
		order(n.below, by)
	}
}

// figure is what the bar of a node shows.
func (n *node) figure(by Sort) int64 {
	if by == ByTokens {
		return n.tokens
	}
	return n.bytes
}

// fewRows is how many rows are shown unfolded at first.
const fewRows = 40

// unfold says which nodes are open when the browser starts: all if there are few,
// else the runtimes.
func unfold(all []*node) map[string]bool {
	open, rows := map[string]bool{}, 0
	for _, runtime := range all {
		open[runtime.key] = true
		rows += 1 + len(runtime.below) + runtime.sessions
	}
	if rows > fewRows {
		return open
	}
	for _, runtime := range all {
		for _, agent := range runtime.below {
			open[agent.key] = true
		}
	}
	return open
}

// rows are the nodes that are shown: those whose parents are open.
func rows(list []*node, open map[string]bool) (shown []*node) {
	for _, n := range list {
		shown = append(shown, n)
		if open[n.key] {
			shown = append(shown, rows(n.below, open)...)
		}
	}
	return shown
}
