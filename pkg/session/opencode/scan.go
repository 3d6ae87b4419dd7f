package opencode

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Scan implements [session.Store]: what is said in a session, in the order in
// which it is sent. What was taken back by a revert is abandoned. Memory grows
// by the longest message, and by a few bytes for each compaction.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{emit: emit, thinking: o.Thinking, details: o.Details}
	_, err := scan.lines.Run(ctx, r, nil, scan.line)
	if err == nil {
		err = scan.flush()
	}
	if scan.failed != nil {
		err = scan.failed
	}
	return scan.lines.Result, err
}

// scanner is the state of one scan.
type scanner struct {
	lines    session.LineScan
	cursor   jsonl.Cursor
	emit     func(*session.Message) error
	failed   error // what emit returned
	thinking bool
	details  bool

	said    spoken // the message whose parts are read
	held    bool   // there is one
	ordinal int
	last    int64             // time of the message before
	tails   map[string]string // by the message that asked for a compaction: the first message that it keeps
	revert  revert
	passed  session.PassedRecords
}

// revert is what was taken back: the message, and what followed.
type revert struct {
	message, part string
	over          bool // the message was reached
}

// errStopped ends a scan whose emit failed, whatever its error wraps.
var errStopped = errors.New("stopped")

// line takes one line.
func (s *scanner) line(r *jsonl.Record) (known bool, err error) {
	var l logLine
	if err := l.read(&s.cursor, r.Raw); err != nil {
		return false, err
	}
	result := &s.lines.Result
	switch string(l.kind) {
	case "opencode.session":
		if result.Headers++; result.Headers == 1 {
			result.SessionID, result.Version = string(l.row.id), int(l.format)
			s.revert = l.row.revert(&s.cursor)
		}
		return true, s.flush()
	case "message":
		if err := s.flush(); err != nil {
			return false, err
		}
		s.begin(r, &l)
		return true, nil
	case "part":
		s.part(r, &l)
		return true, nil
	case "row":
		if string(l.table) == "kilo_board_message" {
			return true, s.board(r, &l)
		}
		if string(l.table) != "project" && string(l.table) != "todo" && string(l.table) != "kilo_board" {
			result.CountUnknown("table ", l.table)
		}
		return true, s.flush()
	case "lost":
		result.CountUnknown(session.RowsLost, l.table)
		return true, nil
	case "journal", "children":
		return true, s.flush()
	}
	return false, nil
}

// board says what an agent wrote on a board of Kilo's. It is no part of the context.
func (s *scanner) board(r *jsonl.Record, l *logLine) error {
	if err := s.flush(); err != nil || len(l.row.body) == 0 {
		return err
	}
	return s.say(&session.Message{
		ID: slices.Clone(l.row.id), Role: session.RoleInjected, CustomType: []byte("kilo.board"), OutOfContext: true, Time: l.row.created, CutBytes: r.CutBytes,
		Line: r.Line, Offset: r.Offset, Length: r.Length, Parts: []session.Part{{Kind: session.PartText, Text: l.row.body}},
	})
}

// begin takes a message. It is said when its last part was read.
func (s *scanner) begin(r *jsonl.Record, l *logLine) {
	s.held = true
	s.said = spoken{
		line: r.Line, lastLine: r.Line, offset: r.Offset, end: r.Offset + r.Length, cut: r.CutBytes,
		id: slices.Clone(l.row.id), at: l.row.created, parts: s.said.parts[:0],
	}
	s.said.message.read(&s.cursor, l.payload)
	s.lines.Result.Records++
}

// part takes a part of the message that was begun. A part that belongs to no
// message is counted.
func (s *scanner) part(r *jsonl.Record, l *logLine) {
	if !s.held || string(l.row.message) != string(s.said.id) {
		s.lines.Result.CountUnknown("part of ", []byte("no message"))
		return
	}
	s.said.lastLine, s.said.end = r.Line, r.Offset+r.Length
	s.said.cut += r.CutBytes
	var p part
	p.id = slices.Clone(l.row.id)
	p.read(&s.cursor, l.payload, s.details)
	s.said.parts = append(s.said.parts, p)
}

// flush says the message that is held.
func (s *scanner) flush() error {
	if !s.held {
		return nil
	}
	s.held = false
	m, all := &s.said, s.said.parts
	branch := s.branch(m)
	s.meet(all, branch != session.Active)
	if m.at == 0 {
		m.at = m.message.created
	}
	inferred := m.at == 0
	if inferred {
		m.at = s.last
	}
	s.last = m.at
	if tail, asked := m.compaction(); asked {
		if s.tails == nil {
			s.tails = map[string]string{}
		}
		s.tails[string(m.id)] = tail
	}
	said := m.messages(s.tails)
	if len(said) == 0 && branch == session.Active {
		s.passed.Add(m.id)
	}
	for i := range said {
		x := &said[i]
		x.Branch, x.Time, x.TimeInferred = branch, m.at, inferred
		x.Line, x.Offset, x.Length = m.line, m.offset, m.end-m.offset
		if m.lastLine > m.line {
			x.LastLine = m.lastLine
		}
		if i == 0 {
			x.CutBytes = m.cut
			if branch == session.Active {
				s.passed.Give(x)
			}
		}
		if err := s.say(x); err != nil {
			return err
		}
	}
	return nil
}

// meet notes what of the message that was read is not known: its role, and parts. Those
// behind its own were taken back.
func (s *scanner) meet(parts []part, left bool) {
	x := session.Strange{What: "role ", Type: s.said.message.role, Line: s.said.line, Sent: true, Aside: left}
	if role := string(x.Type); role != "user" && role != "assistant" {
		s.lines.Result.Meet(x)
	}
	x.What = "part "
	for i := range parts {
		x.Type, x.Aside = parts[i].kind, left || i >= len(s.said.parts)
		if !parts[i].known() {
			s.lines.Result.Meet(x)
		}
	}
}

// branch tells whether the message was taken back. Of one that was taken back
// from a part on, what was before stays.
func (s *scanner) branch(m *spoken) session.Branch {
	if s.revert.message == "" {
		return session.Active
	}
	if s.revert.over {
		return session.Abandoned
	}
	if string(m.id) != s.revert.message {
		return session.Active
	}
	s.revert.over = true
	if s.revert.part == "" {
		return session.Abandoned
	}
	if i := slices.IndexFunc(m.parts, func(p part) bool { return string(p.id) == s.revert.part }); i > 0 {
		m.parts = m.parts[:i]
		return session.Active
	}
	return session.Abandoned
}

// say hands out one message.
func (s *scanner) say(m *session.Message) error {
	m.Ordinal = s.ordinal
	s.ordinal++
	if !s.thinking {
		m.Parts = slices.DeleteFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartThinking })
	}
	s.lines.Result.Count(m)
	if s.failed = s.emit(m); s.failed != nil {
		return errStopped
	}
	return nil
}
