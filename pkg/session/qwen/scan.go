package qwen

import (
	"bytes"
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Scan implements [session.Store]: the messages of a log in file order. The path
// from the last record to the root is active; what was left by going back is
// abandoned. A compression is a summary with the messages that it has in place of
// all before it.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{tree: o.Tree}
	scan.thinking, scan.unsent, scan.details = o.Thinking, true, o.Details
	if o.Tree == nil {
		scan.builder = session.NewTreeBuilder()
	} else {
		scan.repeats = o.Tree.Repeats()
	}
	result, err := scan.lines.Run(ctx, r, emit, scan.read)
	if err != nil {
		return result, err
	}
	if result.Tree = o.Tree; result.Tree == nil {
		result.Tree = scan.builder.Tree()
	}
	return result, nil
}

// scanner is the state of one scan.
type scanner struct {
	decoder
	lines   session.LineScan
	tree    *session.Tree // nil while it is built
	builder *session.TreeBuilder
	repeats *session.Repeats

	nodes    int
	previous int64  // time of the record before
	cwd      []byte // of the record before
}

// read takes one record.
func (s *scanner) read(r *jsonl.Record) (known bool, err error) {
	if err := s.decode(r.Raw); err != nil {
		return false, err
	}
	x, result := &s.record, &s.lines.Result
	if x.kind == foreign {
		return false, nil
	}
	if result.SessionID == "" {
		result.SessionID, result.Headers = string(x.session), 1
	}
	if len(x.cwd) > 0 && !bytes.Equal(x.cwd, s.cwd) {
		s.cwd = bytes.Clone(x.cwd)
	}
	node := s.nodes
	s.nodes++
	if s.builder != nil {
		s.builder.Add(session.TreeEntry{ID: x.id, Parent: x.parent, Root: x.root})
	}
	if x.kind == unknown {
		result.Meet(s.strange(r, node))
	}
	naive, ok := false, false
	var at int64
	if at, naive, ok = session.ParseTime(x.time); ok {
		s.previous = at
	}
	for i := range s.messages {
		m := &s.messages[i]
		m.Time, m.TimeInferred = s.previous, naive || !ok
		m.Directory, m.CutBytes = s.cwd, r.CutBytes
		if err := s.say(r, m, node, i == 0); err != nil {
			return true, err
		}
	}
	return true, nil
}

// strange is the record, of a type that is not known. Of the runtime's own its payload
// tells, because records of every type are linked.
func (s *scanner) strange(r *jsonl.Record, node int) session.Strange {
	x := session.Strange{Runtime: session.RuntimeQwen, Type: s.record.name, Line: r.Line, Raw: r.Raw}
	if len(s.record.subtype) > 0 {
		x.What, x.Type = string(s.record.name)+" ", s.record.subtype
	}
	x.Aside = s.tree != nil && s.tree.Branch(node) != session.Active
	if string(s.record.name) == "system" {
		x.Data = append([]byte{}, s.record.payload...)
	}
	return x
}

// say hands out a message of a record. Only the first of several counts for the
// tree.
func (s *scanner) say(r *jsonl.Record, m *session.Message, node int, first bool) error {
	if first && s.builder != nil {
		s.builder.Said(node, m)
	}
	if k := s.record.kind; first && k != compression && k != failure {
		s.lines.Result.Records++
	}
	if s.tree != nil {
		m.Branch = s.tree.Branch(node)
		if s.repeats.Repeated(node, m, r.Raw) {
			s.lines.Repeat()
			return nil
		}
	}
	return s.lines.Say(r, m)
}
