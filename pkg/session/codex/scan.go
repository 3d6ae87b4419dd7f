package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Scan implements [session.Store]: what is said in a rollout, in file order. A
// compressed rollout is read as what it holds, so places are those in the
// plain text; one that was cut off is read as far as it goes, and is torn.
//
// Thinking has an ordinal of its own and is only emitted if it was asked for.
// Without o.Tree every message is active; with it, the turns that were rolled
// back are abandoned, and what they say and an active turn says again is
// counted instead of emitted.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	plain, compression, err := jsonl.Decompress(r, jsonl.Unsized)
	if err != nil {
		return session.Scan{}, fmt.Errorf("scan log: %w", err)
	}
	defer plain.Close()
	scan := newScanner(o, emit)
	_, err = scan.lines.Run(ctx, plain, nil, scan.read)
	result := &scan.lines.Result
	if compression != jsonl.CompressionNone && errors.Is(err, io.ErrUnexpectedEOF) {
		result.Counts.Torn, err = true, nil
	}
	if err == nil {
		err = scan.sayOutputs()
	}
	if err == nil {
		err = scan.decide()
	}
	if scan.failed != nil {
		err = scan.failed
	}
	if err == nil {
		result.Tree = scan.tree.Tree()
	}
	return *result, err
}

// scanner is the state of one scan.
type scanner struct {
	decoder
	lines   session.LineScan
	emit    func(*session.Message) error
	failed  error // what emit returned
	want    bool  // thinking
	source  kind  // of what is said: said, shown or completed; 0 before it is known
	waiting waiting

	tree    *session.TreeScan
	outputs outputs
	failure []byte // why the last failed turn failed
	turns   turns  // that are active

	ordinal  int    // of the next message
	previous int64  // time of the record before
	cwd      []byte // of the last turn
}

func newScanner(o session.ScanOptions, emit func(*session.Message) error) *scanner {
	s := &scanner{emit: emit, tree: session.NewTreeScan(o.Tree), want: o.Thinking, outputs: newOutputs()}
	s.details = o.Details
	return s
}

// read takes one record.
func (s *scanner) read(r *jsonl.Record) (known bool, err error) {
	if err := s.decode(r.Raw); err != nil {
		return false, err
	}
	s.previous = s.settleTime(s.previous)
	m, result := &s.message, &s.lines.Result
	m.Line, m.Offset, m.Length, m.CutBytes = r.Line, r.Offset, r.Length, r.CutBytes
	m.Directory = s.cwd
	if s.record.unknown != "" {
		item := s.record.unknown == "item " && s.record.payload != nil
		result.Meet(session.Strange{
			Runtime: session.RuntimeCodex, What: s.record.unknown, Type: s.record.unknownName, Line: r.Line,
			Raw: r.Raw, Data: s.record.payload, Sent: item, Aside: s.tree.Aside(),
		})
	}
	switch s.record.kind {
	case foreign:
		return false, nil
	case meta:
		s.header()
		s.directory()
	case bookkeeping:
		s.directory()
	case said, reasoning, shown, completed, compaction, bareCompaction:
		if s.record.kind == compaction {
			m.Kept = s.replacement(s.record.item.history, m)
		}
		s.answer()
		err = s.offer(s.record.kind)
	case printed:
		err = s.printed()
	case patched:
		s.outputs.patched(&s.message)
	case turnEnd:
		err = s.endTurn()
	case repeated:
		result.Repeated++
	case rollback:
		err = s.offerRollback(s.record.item.turns)
	}
	return true, err
}

// header takes the thread's id from the first record that names one: a fork
// begins with a copy of its parent, whose own record comes after.
func (s *scanner) header() {
	result := &s.lines.Result
	if result.Headers++; result.Headers == 1 {
		result.SessionID = string(s.record.item.id)
	}
}

// directory takes the working directory from a record that names one: that of
// the thread, and those of its turns.
func (s *scanner) directory() {
	cwd := s.record.item.cwd
	if len(cwd) > 0 && !bytes.Equal(cwd, s.cwd) && (s.record.kind == meta || string(s.record.name) == "turn_context") {
		s.cwd = bytes.Clone(cwd) // messages that wait have the one before
	}
}

// errStopped ends a scan whose emit failed, whatever its error wraps.
var errStopped = errors.New("stopped")

// say hands out a message.
func (s *scanner) say(m *session.Message, of kind) error {
	m.Ordinal = s.ordinal
	s.ordinal++
	node := s.link(m)
	if of == bareCompaction {
		m.Kept = s.turns.compact(node)
	}
	if of == said || of == shown || of == completed {
		s.lines.Result.Records++
	}
	switch {
	case of == reasoning && !s.want:
		return nil
	case s.tree.Repeated(node, m):
		s.lines.Result.Repeated++
		return nil
	}
	s.lines.Result.Count(m)
	if s.failed = s.emit(m); s.failed != nil {
		return errStopped
	}
	return nil
}

// link adds a message to the tree and returns its node.
func (s *scanner) link(m *session.Message) int {
	node := s.tree.Say(m)
	if m.Role == session.RoleUser {
		s.turns.add(node, m)
	}
	return node
}

// rollBack leaves the last turns: what comes next follows what was before them.
//
// A compaction with a history of its own is left with them, and what was before
// it is there again. One without stays in force for what the person said before
// it, and only that is left of the turns before it: a compaction that says
// nothing tells so to a replay.
func (s *scanner) rollBack(of *session.Message, turns int64) error {
	start, rebuilt, ok := s.turns.rollBack(turns)
	switch {
	case !ok:
		return nil
	case start == 0:
		s.tree.Add(session.TreeEntry{Root: true})
	default:
		s.tree.Add(session.TreeEntry{Parent: session.NodeID(start - 1)})
	}
	if !rebuilt {
		return nil
	}
	again := session.Message{
		Role: session.RoleSummary, Compaction: true, Kept: s.turns.said(),
		Line: of.Line, Offset: of.Offset, Length: of.Length, Time: of.Time, TimeInferred: of.TimeInferred,
	}
	return s.say(&again, rollback)
}

// maxWaiting is how many bytes of text wait at most for an item that says
// which of the three texts the rollout is read by. In a rollout of Codex' own
// the item stands beside its first event.
const maxWaiting = 1 << 20

// waiting holds what was said before it is known by which of its texts the
// rollout is read.
type waiting struct {
	messages []waitingMessage
	bytes    int
}

// waitingMessage is a message, or a number of turns to roll back.
type waitingMessage struct {
	message session.Message
	kind    kind
	turns   int64
}

func (w *waiting) add(m *session.Message, of kind) {
	w.messages = append(w.messages, waitingMessage{message: clone(m), kind: of})
	for i := range m.Parts {
		w.bytes += len(m.Parts[i].Text)
	}
}

func (w *waiting) has(of kind) bool {
	for i := range w.messages {
		if w.messages[i].kind == of {
			return true
		}
	}
	return false
}

// clone copies a message with all that it points to.
func clone(m *session.Message) session.Message {
	c := *m
	c.ID, c.CallID, c.ToolName, c.CustomType, c.ErrorText = bytes.Clone(m.ID), bytes.Clone(m.CallID), bytes.Clone(m.ToolName), bytes.Clone(m.CustomType), bytes.Clone(m.ErrorText)
	c.OddRole, c.Sent = bytes.Clone(m.OddRole), bytes.Clone(m.Sent)
	c.Parts = make([]session.Part, len(m.Parts))
	for i, p := range m.Parts {
		p.Text, p.Name, p.CallID = bytes.Clone(p.Text), bytes.Clone(p.Name), bytes.Clone(p.CallID)
		c.Parts[i] = p
	}
	return c
}

// decisive reports whether an item says something that an event repeats.
func decisive(m *session.Message) bool {
	if m.Role != session.RoleUser && m.Role != session.RoleAssistant {
		return false
	}
	return m.FirstText() != nil
}

// offer takes what a record says, if it is of the text that the rollout is
// read by.
func (s *scanner) offer(of kind) error {
	m := &s.message
	item := of != shown && of != completed
	if s.source == 0 && of == said && decisive(m) {
		if err := s.settle(said); err != nil {
			return err
		}
	}
	switch {
	case s.source != 0 && !item && of != s.source:
		return nil
	case s.source != 0 || item && len(s.waiting.messages) == 0:
		return s.say(m, of)
	}
	s.waiting.add(m, of)
	if s.waiting.bytes > maxWaiting {
		return s.decide()
	}
	return nil
}

// offerRollback leaves turns, in its turn.
func (s *scanner) offerRollback(turns int64) error {
	if len(s.waiting.messages) == 0 {
		return s.rollBack(&s.message, turns)
	}
	s.waiting.messages = append(s.waiting.messages, waitingMessage{message: clone(&s.message), kind: rollback, turns: turns})
	return nil
}

// decide settles by which text the rollout is read, without an item that said
// anything.
func (s *scanner) decide() error {
	switch {
	case s.source != 0 || len(s.waiting.messages) == 0:
		return nil
	case s.waiting.has(completed):
		return s.settle(completed)
	}
	return s.settle(shown)
}

// settle hands out what waited and is to be taken.
func (s *scanner) settle(source kind) error {
	s.source = source
	for i := range s.waiting.messages {
		w := &s.waiting.messages[i]
		switch {
		case w.kind == rollback:
			if err := s.rollBack(&w.message, w.turns); err != nil {
				return err
			}
			continue
		case w.kind != source && (w.kind == shown || w.kind == completed):
			continue
		}
		if err := s.say(&w.message, w.kind); err != nil {
			return err
		}
	}
	s.waiting = waiting{}
	return nil
}
