package gemini

import (
	"bufio"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Scan implements [session.Store]: what is said in a chat, each thing once, in
// file order. Without o.Tree every message is active; with it, those that were
// taken back are abandoned. Memory grows by a few bytes a message, and for a
// chat that is one JSON document by its longest message.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := newScanner(o, emit)
	buffered := bufio.NewReaderSize(r, documentHead)
	head, err := buffered.Peek(documentHead)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return session.Scan{}, err
	case isDocument(head):
		err = scan.lines.RunDocument(ctx, buffered, nil, scan.element)
	case isSaved(head):
		err = scan.readSaved(ctx, buffered, head)
	default:
		_, err = scan.lines.Run(ctx, buffered, nil, scan.line)
	}
	if err == nil {
		err = scan.flush()
	}
	if scan.failed != nil {
		err = scan.failed
	}
	if err == nil {
		scan.lines.Result.Tree = scan.tree.Tree()
	}
	return scan.lines.Result, err
}

// scanner is the state of one scan.
type scanner struct {
	decoder
	lines  session.LineScan
	emit   func(*session.Message) error
	failed error // what emit returned
	want   bool  // thinking

	held group // a model's message that may grow
	hold bool
	seen *seen

	tree *session.TreeScan

	ordinal  int   // of the next message
	previous int64 // time of the record before
}

func newScanner(o session.ScanOptions, emit func(*session.Message) error) *scanner {
	s := &scanner{emit: emit, tree: session.NewTreeScan(o.Tree), want: o.Thinking, seen: newSeen()}
	s.decoder.details = o.Details
	return s
}

// place is where a record stands in the source.
type place struct {
	line           int
	offset, length int64
	cut            int64
}

// line takes one line of a JSON Lines chat.
func (s *scanner) line(r *jsonl.Record) (known bool, err error) {
	if err := s.decode(r.Raw); err != nil {
		return false, err
	}
	at := place{r.Line, r.Offset, r.Length, r.CutBytes}
	switch s.record.kind {
	case foreign:
		s.lines.Result.Meet(session.Strange{Runtime: session.RuntimeGemini, Type: s.record.name, Line: r.Line, Raw: r.Raw, Aside: s.tree.Aside()})
		return false, nil
	case metadata:
		err = s.header(r, at)
	case message:
		err = s.said(at)
	case history:
		err = s.list(r.Raw, s.record.messages, at)
	case rewind:
		if err = s.flush(); err == nil {
			s.rewind(s.record.target)
		}
	}
	return true, err
}

// header takes the chat's id. A document on one line holds its messages too.
func (s *scanner) header(r *jsonl.Record, at place) error {
	result := &s.lines.Result
	if id := string(s.record.sessionID); result.Headers == 0 || id != result.SessionID {
		if result.Headers++; result.Headers == 1 {
			result.SessionID = id
		}
	}
	if s.record.messages == nil {
		return nil
	}
	return s.list(r.Raw, s.record.messages, at)
}

// list takes a history.
func (s *scanner) list(whole, raw []byte, at place) error {
	if err := s.flush(); err != nil {
		return err
	}
	start := cap(whole) - cap(raw)
	return s.eachMessage(raw, func(from, length int) error {
		one := at
		if at.cut == 0 {
			one.offset, one.length = at.offset+int64(start+from), int64(length)
		}
		s.settle(one)
		return s.say(&s.group, true)
	})
}

// settle gives the messages of the record their time and place.
func (s *scanner) settle(at place) {
	s.previous = s.settleTime(s.previous)
	for i := range s.group.messages {
		m := &s.group.messages[i]
		m.Line, m.Offset, m.Length = at.line, at.offset, at.length
		if i == 0 {
			m.CutBytes = at.cut
		}
	}
}

// said takes a message that was appended. A model's message waits: while its
// tools run it is written again, with the same id and more in it.
func (s *scanner) said(at place) error {
	s.settle(at)
	g := &s.group
	if s.hold && g.growing && len(g.id) > 0 && string(g.id) == string(s.held.id) {
		s.lines.Result.Repeated++
		s.held = g.clone()
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	if g.growing {
		s.held, s.hold = g.clone(), true
		return nil
	}
	return s.say(g, s.again(g))
}

// again reports whether the id of a group was seen before.
func (s *scanner) again(g *group) bool {
	_, again := s.seen.ids[s.seen.hash(g.id)]
	return again && len(g.id) > 0
}

// flush says what waited.
func (s *scanner) flush() error {
	if !s.hold {
		return nil
	}
	s.hold = false
	return s.say(&s.held, s.again(&s.held))
}

// say hands out what is new in a group.
func (s *scanner) say(g *group, isCopy bool) error {
	node := s.seen.strip(g, isCopy)
	if len(g.messages) == 0 {
		s.lines.Result.Repeated++
	} else if node < 0 {
		node = s.tree.Len()
	}
	if hash := s.seen.hash(g.id); len(g.id) > 0 && node >= 0 {
		if _, ok := s.seen.ids[hash]; !ok {
			s.seen.ids[hash] = node
		}
	}
	for i := range g.messages {
		if err := s.message(&g.messages[i]); err != nil {
			return err
		}
	}
	return nil
}

// errStopped ends a scan whose emit failed, whatever its error wraps.
var errStopped = errors.New("stopped")

// message hands out one message.
func (s *scanner) message(m *session.Message) error {
	m.Ordinal = s.ordinal
	s.ordinal++
	node := s.tree.Say(m)
	s.seen.add(m, node)
	result := &s.lines.Result
	if !m.Compaction {
		result.Records++
	}
	if s.tree.Repeated(node, m) {
		result.Repeated++
		return nil
	}
	if !s.want {
		withoutThinking(m)
	}
	result.Count(m)
	if s.failed = s.emit(m); s.failed != nil {
		return errStopped
	}
	return nil
}

func withoutThinking(m *session.Message) {
	kept := m.Parts[:0]
	for _, p := range m.Parts {
		if p.Kind != session.PartThinking {
			kept = append(kept, p)
		}
	}
	m.Parts = kept
}

// rewind takes a message and all after it back: what comes next follows what
// was before it. A message that is not known takes everything back, as Gemini
// does.
func (s *scanner) rewind(id []byte) {
	at, ok := s.seen.ids[s.seen.hash(id)]
	if s.tree.Len() == 0 {
		return
	}
	if !ok || at == 0 {
		s.tree.Add(session.TreeEntry{Root: true})
		return
	}
	s.tree.Add(session.TreeEntry{Parent: session.NodeID(at - 1)})
}

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
