package claude

import (
	"context"
	"io"

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
	scan.thinking = o.Thinking
	if o.Tree != nil {
		scan.repeats = o.Tree.Repeats()
	}
	result, err := scan.lines.Run(ctx, r, emit, scan.read)
	if err != nil {
		return result, err
	}
	if result.Tree = o.Tree; result.Tree == nil {
		result.Tree = scan.chain.tree()
	}
	return result, nil
}

// scanner is the state of one scan.
type scanner struct {
	decoder
	lines   session.LineScan
	tree    *session.Tree // nil while it is built
	repeats *session.Repeats
	chain   *chain
	replies *replies

	previous int64  // time of the record before
	head     []byte // of the last boundary: the first message that it kept
	begun    bool   // a message was read
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
	node := s.chain.add(x, m)
	if x.kind == boundary {
		s.head = append(s.head[:0], x.head...)
	}
	if !x.kind.says() {
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
	if x.kind == unknown {
		result.CountUnknown("", x.name)
	}
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
	if !s.begun {
		s.begun, s.ownSide = true, x.sidechain
	}
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
			return nil
		}
	}
	return s.lines.Say(r, m)
}
