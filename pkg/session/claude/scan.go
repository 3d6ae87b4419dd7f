package claude

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Scan implements [session.Store]: the messages of a log in file order, one
// for each record that says something. An answer of the model is as many
// messages as it has records; its usage stands on the first of them and again
// on those where it has grown. What a sub-agent said in the log of its caller
// is out of context; in a log of its own it is the conversation.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{tree: o.Tree, chain: newChain(o.Tree == nil), replies: newReplies()}
	scan.thinking, scan.unsent, scan.details = o.Thinking, true, o.Details
	if o.Tree != nil {
		scan.repeats = o.Tree.Repeats()
	}
	log := bufio.NewReaderSize(r, mostAhead)
	head, _ := log.Peek(mostAhead) // what fails, fails again
	scan.main, scan.lines.Unread.Own = hasMain(head), session.FormatClaude
	result, err := scan.lines.Run(ctx, log, emit, scan.read)
	if err != nil {
		return result, err
	}
	result.NoteDoubt(scan.strangers.last)
	if result.Tree = o.Tree; result.Tree == nil {
		result.Tree = scan.chain.tree()
	}
	return result, nil
}

// mostAhead is how much of a log is looked at before its first record is read, in bytes.
const mostAhead = 64 << 10

// hasMain reports whether a record is of no sidechain: then the log is none of a
// sub-agent, even if the warm-up of one stands at its beginning.
func hasMain(head []byte) bool {
	return bytes.Contains(head, []byte(`"isSidechain":false`)) || bytes.Contains(head, []byte(`"isSidechain": false`))
}

// scanner is the state of one scan.
type scanner struct {
	decoder
	lines   session.LineScan
	tree    *session.Tree // nil while it is built
	repeats *session.Repeats
	chain   *chain
	replies *replies
	passed  session.PassedRecords

	strangers strangers

	previous int64  // time of the record before
	head     []byte // of the last boundary: the first message that it kept
	begun    bool   // a message was read
	main     bool   // a record of no sidechain is known
	ownSide  bool   // the log is a sub-agent's own: its messages are a sidechain
}

// read takes one record of the log. It changes nothing unless the record is
// one JSON object.
func (s *scanner) read(r *jsonl.Record) (bool, error) {
	if err := s.decode(r.Raw); err != nil {
		return false, err
	}
	x, m := &s.record, &s.message
	s.settleTime()
	s.count()
	if x.kind == unknown {
		s.strange(r)
	}
	node := s.chain.add(x, m)
	if x.kind == boundary {
		s.head = append(s.head[:0], x.head...)
	}
	if !x.kind.says() {
		s.strangers.link(x)
		s.pass(node)
		return x.ours(), nil
	}
	m.CutBytes = r.CutBytes
	s.settle()
	return x.ours(), s.say(r, node)
}

func (s *scanner) settleTime() {
	m := &s.message
	var naive, ok bool
	if m.Time, naive, ok = session.ParseTime(s.record.time); !ok {
		m.Time, m.TimeInferred = s.previous, true
		return
	}
	m.TimeInferred, s.previous = naive, m.Time
}

func (s *scanner) count() {
	x, result := &s.record, &s.lines.Result
	if x.oddBlock != nil {
		result.CountUnknown("block ", x.oddBlock)
	}
	if x.counts() {
		result.Records++
	}
	if result.SessionID == "" {
		result.SessionID = string(x.session)
	}
}

// settle completes a message with what earlier records tell.
func (s *scanner) settle() {
	x, m := &s.record, &s.message
	s.main = s.main || !x.sidechain
	if !s.begun {
		s.begun, s.ownSide = true, true
	}
	s.ownSide = s.ownSide && !s.main
	m.OutOfContext = x.sidechain != s.ownSide
	if m.Compaction {
		m.FirstKept = s.head
	}
	if m.HasUsage {
		m.HasUsage = s.replies.grew(x.reply, m.Usage)
	}
}

func (s *scanner) say(r *jsonl.Record, node int) error {
	m := &s.message
	if node >= 0 && s.chain.builder != nil {
		s.chain.builder.Said(node, m)
	}
	if node >= 0 && s.tree != nil {
		m.Branch = s.tree.Branch(node)
		if s.repeats.Repeated(node, m, r.Raw) {
			s.lines.Repeat()
			s.pass(node)
			return nil
		}
	}
	if m.Branch == session.Active {
		if !m.OutOfContext {
			s.lines.Result.NoteDoubt(s.strangers.reach(&s.record))
		}
		s.passed.Give(m)
	}
	return s.lines.Say(r, m)
}

// pass remembers a record of the active branch that is no message.
func (s *scanner) pass(node int) {
	if len(s.record.id) > 0 && (node < 0 || s.tree == nil || s.tree.Branch(node) == session.Active) {
		s.passed.Add(s.record.id)
	}
}

// CountMessages implements [session.MessageCounter].
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	return s.CountBy(ctx, ref, countMessages)
}

// countMessages returns how many records of type user and assistant a log
// has, tool results and repeated ones included. It decodes nothing else.
func countMessages(ctx context.Context, log io.Reader) (int, error) {
	records := messageRecords()
	return records.Count(ctx, log)
}

func messageRecords() session.MessageRecords {
	return session.MessageRecords{Types: []string{"user", "assistant"}}
}

// key is the hash of a uuid, of one tree.
type key uint64

const (
	// windowLinks is how many records that say nothing are remembered as links
	// of the tree. A message further away from its link than that starts a
	// tree of its own, which leaves everything active.
	windowLinks = 1 << 14
	// openReplies is how many replies of the model may be under way at once:
	// the agent's and its sub-agents'.
	openReplies = 16
)

// chain builds the tree of a log from its messages alone. Records that say
// nothing are no nodes of it but links: what hangs on one hangs on the message
// before it, so a late note on an old message is not mistaken for the end of
// the conversation. And the records of one reply with the results of its calls
// are one line, in the order of the file: in the log each parallel result
// hangs on its own call, and all but one are dead ends.
type chain struct {
	seed    maphash.Seed
	builder *session.TreeBuilder // nil in a second scan
	nodes   int

	links map[key]target
	ring  []key // the links in order, the oldest at next once the ring is full
	next  int

	replies []*reply // the open ones, the newest last
	last    [2]key   // the message before, outside and inside of a sidechain
	id      [8]byte
	parent  [8]byte
}

// target is what a link leads to.
type target struct {
	key  key
	root bool
	note bool // by way of a note on a call that runs: only its result can hang there
}

// reply is the records of one reply of the model and its calls' results.
type reply struct {
	id      key // of the message id
	members map[key]struct{}
	results map[key]struct{} // of members, those that are results
	calls   map[key]struct{} // and those that call a tool
	last    key
}

func newChain(build bool) *chain {
	c := &chain{seed: maphash.MakeSeed(), links: make(map[key]target)}
	if build {
		c.builder = session.NewTreeBuilder()
	}
	return c
}

func (c *chain) key(id []byte) key { return key(maphash.Bytes(c.seed, id)) }

// add takes in a record. It returns its ordinal in the tree, -1 for a record
// that is no node: one that says nothing or has no id. m is its message.
func (c *chain) add(r *record, m *session.Message) int {
	if len(r.id) == 0 {
		return -1
	}
	if !r.kind.says() {
		if c.builder != nil {
			c.link(r)
		}
		return -1
	}
	if c.builder != nil {
		c.node(r, m)
	}
	c.nodes++
	return c.nodes - 1
}

// link remembers what a record that says nothing hangs on.
func (c *chain) link(r *record) {
	k := c.key(r.id)
	if _, known := c.links[k]; known {
		return
	}
	to := c.parentOf(r)
	to.note = to.note || string(r.name) == "progress" && c.isCall(to.key)
	c.links[k] = to
	if len(c.ring) < windowLinks {
		c.ring = append(c.ring, k)
		return
	}
	delete(c.links, c.ring[c.next])
	c.ring[c.next] = k
	c.next = (c.next + 1) % windowLinks
}

// parentOf returns the message that a record hangs on. A boundary hangs on the
// message that it follows, a record that names nothing on the one before it.
func (c *chain) parentOf(r *record) target {
	named := r.parent
	if len(named) == 0 {
		named = r.logical
	}
	switch {
	case len(named) > 0:
		k := c.key(named)
		if t, ok := c.links[k]; ok {
			return t
		}
		return target{key: k}
	case r.root && r.kind != boundary:
		return target{root: true}
	}
	return target{key: c.last[side(r)]}
}

func side(r *record) int {
	if r.sidechain {
		return 1
	}
	return 0
}

// node adds a message to the tree.
func (c *chain) node(r *record, m *session.Message) {
	k := c.key(r.id)
	parent := c.inLine(r, m, k, c.instead(r, m, c.parentOf(r)))
	binary.LittleEndian.PutUint64(c.id[:], uint64(k))
	e := session.TreeEntry{ID: c.id[:]}
	switch {
	case parent.key != 0:
		binary.LittleEndian.PutUint64(c.parent[:], uint64(parent.key))
		e.Parent = c.parent[:]
	case r.sidechain:
		e.Parent = e.ID // a tree of its own: nothing has this id yet
	default:
		e.Root = true
	}
	c.builder.Add(e)
	c.last[side(r)] = k
}

// instead is what a message hangs on that the log hangs on a note: nobody can have gone
// back to between a call and its result, so it follows what was said last. A second
// message on the same note, of somebody who went back, gets the same place.
func (c *chain) instead(r *record, m *session.Message, parent target) target {
	if !parent.note || m.Role == session.RoleToolResult || c.last[side(r)] == 0 {
		return parent
	}
	parent = target{key: c.last[side(r)]}
	if k := c.key(r.parent); len(r.parent) > 0 {
		c.links[k] = parent
	}
	return parent
}

// inLine puts the records of a reply and the results of its calls in a line.
func (c *chain) inLine(r *record, m *session.Message, k key, parent target) target {
	if r.kind == assistant && len(r.reply) > 0 {
		id := c.key(r.reply)
		g := c.replyOf(id)
		if g != nil {
			parent = g.append(k, parent)
		} else {
			parent = c.after(parent)
			g = &reply{id: id, members: map[key]struct{}{k: {}}, results: map[key]struct{}{}, calls: map[key]struct{}{}, last: k}
			c.open(g)
		}
		if slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartToolCall }) {
			g.calls[k] = struct{}{}
		}
		return parent
	}
	if m.Role == session.RoleToolResult && !parent.root {
		if g := c.holding(parent.key); g != nil {
			g.results[k] = struct{}{}
			return g.append(k, parent)
		}
		return parent
	}
	return c.after(parent)
}

// append puts a record at the end of the reply's line. A copy of one that is
// in it stays where it is.
func (g *reply) append(k key, parent target) target {
	if _, copied := g.members[k]; copied {
		return parent
	}
	parent = target{key: g.last}
	g.members[k] = struct{}{}
	g.last = k
	return parent
}

// after moves what follows any result of an open reply behind all of them.
func (c *chain) after(parent target) target {
	g := c.holding(parent.key)
	if g == nil || parent.root {
		return parent
	}
	if _, result := g.results[parent.key]; !result {
		return parent
	}
	last := g.last
	c.close(g)
	return target{key: last}
}

// isCall reports whether a message of an open reply calls a tool.
func (c *chain) isCall(k key) bool {
	g := c.holding(k)
	if g == nil {
		return false
	}
	_, call := g.calls[k]
	return call
}

func (c *chain) replyOf(id key) *reply {
	for _, g := range c.replies {
		if g.id == id {
			return g
		}
	}
	return nil
}

func (c *chain) holding(k key) *reply {
	for _, g := range c.replies {
		if _, ok := g.members[k]; ok {
			return g
		}
	}
	return nil
}

func (c *chain) open(g *reply) {
	if len(c.replies) == openReplies {
		c.replies = append(c.replies[:0], c.replies[1:]...)
	}
	c.replies = append(c.replies, g)
}

func (c *chain) close(g *reply) {
	for i, x := range c.replies {
		if x == g {
			c.replies = append(c.replies[:i], c.replies[i+1:]...)
			return
		}
	}
}

// tree returns the finished tree.
func (c *chain) tree() *session.Tree { return c.builder.Tree() }
