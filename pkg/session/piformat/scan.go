package piformat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Scan reads a whole log and hands its messages to emit, in file order: the
// entries of type message, compaction and branch summaries, and the custom
// messages that the model sees. The memory it takes does not depend on the
// size of the log.
//
// Without o.Tree every message is emitted as active while the tree is built,
// copies included. With the tree that an earlier scan of the same bytes
// returned, each message has its branch, and messages that say nothing new
// are counted instead of emitted (see [session.Repeats]). Ordinals are the
// same in both.
//
// An error of emit ends the scan and is returned as it is. Scan returns an
// error that wraps [session.ErrUnknownFormat] if the file has text but no
// record of this format; a file without any text has no messages and is no
// error. With an error the result says what was seen until then, and has no
// tree.
func Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	s := newScanner(o, emit)
	opening := &openingReader{source: r}
	counts, err := jsonl.Scan(ctx, opening, jsonl.Options{}, s.record)
	s.result.Counts = counts
	switch {
	case s.failed != nil:
		return s.result, s.failed
	case errors.Is(err, jsonl.ErrUTF16):
		return s.result, fmt.Errorf("%w: %w", session.ErrUnknownFormat, err)
	case err != nil:
		return s.result, fmt.Errorf("scan log: %w", err)
	}
	if err := s.recognised(opening.text); err != nil {
		return s.result, err
	}
	if s.tree == nil {
		s.tree = s.builder.Tree()
	}
	s.result.Tree = s.tree
	return s.result, nil
}

// scanner is the state of one scan.
type scanner struct {
	decoder
	emit    func(*session.Message) error
	tree    *session.Tree // nil while it is built
	builder *session.TreeBuilder
	repeats *session.Repeats

	result   session.Scan
	passed   session.PassedRecords
	index    int    // of the next record, the header included
	name     []byte // of a record without an id
	entries  int    // with an id, so far
	ordinal  int    // of the next message
	known    int    // records of this format
	previous int64  // time of the record before
	cwd      []byte // of the last header
	failed   error  // what emit returned
	unread   session.Beginning
}

func newScanner(o session.ScanOptions, emit func(*session.Message) error) *scanner {
	s := &scanner{emit: emit, tree: o.Tree}
	s.thinking, s.unsent, s.details = o.Thinking, true, o.Details
	if o.Tree == nil {
		s.builder = session.NewTreeBuilder()
	} else {
		s.repeats = o.Tree.Repeats()
	}
	return s
}

// record takes one record of the log. It changes nothing unless the record is
// one JSON object.
func (s *scanner) record(r *jsonl.Record) error {
	if err := s.decode(r.Raw); err != nil {
		return err
	}
	s.previous = s.settleTime(s.previous)
	s.index++
	switch s.entry.kind {
	case header:
		s.header()
		return nil
	}
	if s.entry.ours() {
		s.known++
	} else if s.known == 0 {
		s.unread.Add(r.Raw)
		s.unread.Says(s.entry.kind.says())
	}
	if s.entry.kind == message {
		s.result.Records++
	}
	node := s.link()
	if s.entry.kind == unknown {
		known := kindOf(s.entry.name)
		broken := known != unknown && known != contextEdit // what an edit changes is not known without all of it
		s.result.Meet(session.Strange{Runtime: session.RuntimePi, Type: s.entry.name, Line: r.Line, Raw: r.Raw, Aside: broken || !s.active(node)})
	}
	if s.entry.kind == reset && s.active(node) {
		s.result.ResetLine, s.result.Doubt, s.result.DoubtSince = r.Line, session.Doubt{}, nil
	}
	if !s.entry.kind.says() {
		s.pass(node)
		return nil
	}
	return s.say(r, node)
}

// active reports whether an entry is on the active branch, as far as that is known.
func (s *scanner) active(node int) bool {
	return node < 0 || s.tree == nil || s.tree.Branch(node) == session.Active
}

// pass remembers a record of the active branch that is no message.
func (s *scanner) pass(node int) {
	if s.active(node) {
		s.passed.Add(s.recordID())
	}
}

// recordID is the id of the record. One of version 1 has none: its place in
// the file stands for it, by which a compaction of that version names it.
func (s *scanner) recordID() []byte {
	if len(s.entry.id) > 0 {
		return s.entry.id
	}
	return s.placeName(int64(s.index - 1))
}

func (s *scanner) placeName(index int64) []byte {
	s.name = strconv.AppendInt(append(s.name[:0], '#'), index, 10)
	return s.name
}

func (s *scanner) header() {
	s.known++
	s.cwd = append(s.cwd[:0], s.entry.cwd...)
	s.result.Headers++
	if s.result.Headers == 1 {
		s.result.SessionID = string(s.entry.id)
		s.result.Version = s.entry.formatVersion()
	}
	if s.builder != nil {
		s.builder.Header(s.entry.id)
	}
}

// formatVersion is 1 for a header that names none.
func (e *entry) formatVersion() int { return int(max(e.version, 1)) }

// link adds the entry to the tree. It returns its ordinal there, -1 for an
// entry without an id: that one follows the entry before it and is active.
func (s *scanner) link() int {
	if len(s.entry.id) == 0 {
		return -1
	}
	if s.builder != nil {
		node := s.builder.Add(session.TreeEntry{ID: s.entry.id, Parent: s.entry.parent, Root: s.entry.root})
		if s.entry.kind == contextEdit {
			s.builder.Edit(node, s.entry.target, s.entry.replacement)
		}
	}
	s.entries++
	return s.entries - 1
}

// say hands out the message of the record.
func (s *scanner) say(r *jsonl.Record, node int) error {
	m := &s.message
	m.Ordinal, m.Line, m.Offset, m.Length, m.CutBytes = s.ordinal, r.Line, r.Offset, r.Length, r.CutBytes
	m.Directory = s.cwd
	s.ordinal++
	if node >= 0 && s.builder != nil {
		s.builder.Said(node, m)
	}
	if node >= 0 && s.tree != nil {
		m.Branch = s.tree.Branch(node)
		if s.repeats.Repeated(node, m, r.Raw) {
			s.result.Repeated++
			s.pass(node)
			return nil
		}
		if edit, edited := s.tree.Edited(node); edited {
			s.edit(edit)
		}
	}
	s.count()
	s.place(m)
	if err := s.emit(m); err != nil {
		s.failed = err
		return errStopped
	}
	return nil
}

// place names the records before a message, itself where it has no id, and
// what a compaction of version 1 kept.
func (s *scanner) place(m *session.Message) {
	if m.Compaction && len(m.FirstKept) == 0 && s.entry.hasKept && len(s.entry.id) == 0 {
		m.FirstKept = bytes.Clone(s.placeName(s.entry.keptIndex))
	}
	if m.Branch != session.Active {
		return
	}
	if len(s.entry.id) == 0 {
		s.passed.Add(s.recordID())
	}
	s.passed.Give(m)
}

// errStopped ends a scan whose emit failed, whatever its error wraps.
var errStopped = errors.New("stopped")

func (s *scanner) count() {
	s.result.Count(&s.message)
	if s.entry.oddBlock != nil {
		s.result.CountUnknown("block ", s.entry.oddBlock)
	}
}

// recognised returns an error if the file has text, but none of it is of this
// format. A record that is still being written may be the only one.
func (s *scanner) recognised(opening []byte) error {
	c := &s.result.Counts
	opening = bytes.TrimLeft(bytes.TrimPrefix(opening, []byte("\xEF\xBB\xBF")), "\x00\t\r\n ")
	pending := c.Torn && len(opening) > 0 && opening[0] == '{'
	switch {
	case s.known > 0, c.Records+c.Bad == 0 && (!c.Torn || pending), c.Bad == 0 && s.unread.Blank():
		return nil
	case c.Records == 0:
		return fmt.Errorf("%w: no line is a JSON object (%d lines)", session.ErrUnknownFormat, c.Lines)
	}
	return fmt.Errorf("%w: none of %d records is one of pi or OpenClaw", session.ErrUnknownFormat, c.Records)
}

// openingReader keeps the first bytes of what is read through it.
type openingReader struct {
	source io.Reader
	text   []byte
}

const openingSize = 64

// Read implements io.Reader.
func (r *openingReader) Read(p []byte) (int, error) {
	n, err := r.source.Read(p)
	if missing := openingSize - len(r.text); missing > 0 {
		r.text = append(r.text, p[:min(n, missing)]...)
	}
	return n, err
}

// CountMessages returns how many records of type message a log has, exact
// copies included. It decodes nothing else.
func CountMessages(ctx context.Context, r io.Reader) (int, error) {
	records := messageRecords()
	return records.Count(ctx, r)
}

func messageRecords() session.MessageRecords {
	return session.MessageRecords{Types: []string{"message"}}
}
