package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// LineScan reads a log whose messages stand one after the other. Make one for
// each scan.
type LineScan struct {
	Result  Scan
	Unread  Beginning // while no record is known
	emit    func(*Message) error
	ordinal int // of the next message
	known   int
	failed  error
}

// errScanStopped ends a scan whose emit failed, whatever its error wraps.
var errScanStopped = errors.New("stopped")

// Run reads every record of r. decode reads one: it hands what the record says
// to [LineScan.Say] and reports whether the record is of its format; an error
// that wraps [jsonl.ErrSyntax] makes the line a bad one. An error of emit ends
// the scan and is returned as it is. An error that wraps [ErrUnknownFormat] is
// returned if there are records and none is of the format, unless they are [Beginning.Blank].
func (s *LineScan) Run(ctx context.Context, r io.Reader, emit func(*Message) error, decode func(r *jsonl.Record) (known bool, err error)) (Scan, error) {
	s.emit = emit
	counts, err := jsonl.Scan(ctx, r, jsonl.Options{}, func(r *jsonl.Record) error {
		known, err := decode(r)
		if known {
			s.known++
		} else if s.known == 0 && err == nil {
			s.Unread.Add(r.Raw)
		}
		return err
	})
	s.Result.Counts = counts
	switch {
	case s.failed != nil:
		return s.Result, s.failed
	case errors.Is(err, jsonl.ErrUTF16):
		return s.Result, fmt.Errorf("%w: %w", ErrUnknownFormat, err)
	case err != nil:
		return s.Result, fmt.Errorf("scan log: %w", err)
	case s.known == 0 && counts.Records+counts.Bad > 0 && (counts.Bad > 0 || !s.Unread.Blank()):
		return s.Result, fmt.Errorf("%w: none of %d records is one of this runtime", ErrUnknownFormat, counts.Records+counts.Bad)
	}
	return s.Result, nil
}

// Say hands out a message of a record: it gets its ordinal and its place.
func (s *LineScan) Say(r *jsonl.Record, m *Message) error {
	m.Ordinal, m.Line, m.Offset, m.Length = s.ordinal, r.Line, r.Offset, r.Length
	s.ordinal++
	s.Result.Count(m)
	if err := s.emit(m); err != nil {
		s.failed = err
		return errScanStopped
	}
	return nil
}

// Repeat passes over a message that says nothing new (see [Repeats]): the
// ordinals of those after it stay what they are without a tree.
func (s *LineScan) Repeat() {
	s.ordinal++
	s.Result.Repeated++
}

// Count takes a message into the figures of a scan.
func (s *Scan) Count(m *Message) {
	s.Carriage.meet(m, s.ByRole[RoleUser]+s.ByRole[RoleAssistant] > 0)
	if s.Messages == 0 || s.Carriage.At != 0 && s.First == s.Carriage.At { // the note's time is not that of what was said
		s.First = m.Time
	}
	s.Last = m.Time
	s.Messages++
	s.ByRole[m.Role]++
	s.CutBytes += m.CutBytes
	s.LeftOut += m.LeftOut
	if s.Doubt != (Doubt{}) && m.Branch == Active && !m.OutOfContext {
		s.settle(m)
	}
	if m.OddRole != nil {
		aside := m.Branch != Active || m.OutOfContext
		s.Meet(Strange{What: "role ", Type: m.OddRole, Line: m.Line, Sent: true, Aside: aside})
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case PartToolCall:
			s.ToolCalls++
		case PartImage:
			s.LeftOut += p.Size
		}
	}
}

// maxUnknown is how many different unknown names are counted, and
// maxUnknownName how many bytes of each are kept.
const (
	maxUnknown     = 64
	maxUnknownName = 64
)

// RowsLost begins what a [Scan] counts as unknown of a session some of whose rows may lie
// on damaged pages of its database; the name of their table follows.
const RowsLost = "rows that may be lost of "

// CountUnknown counts a record type, a role or a block that is not known.
func (s *Scan) CountUnknown(what string, name []byte) {
	if s.Unknown == nil {
		s.Unknown = make(map[string]int)
	}
	key := what + string(name[:min(len(name), maxUnknownName)])
	if _, ok := s.Unknown[key]; !ok && len(s.Unknown) >= maxUnknown {
		key = "others"
	}
	s.Unknown[key]++
}

// Scanner reads a log: a [Store].
type Scanner interface {
	Scan(ctx context.Context, r io.Reader, o ScanOptions, emit func(*Message) error) (Scan, error)
}

// ScanActive scans a log, and once more with its tree if it has forks, so that every
// message says which branch it is on. For each scan open opens the log, and begin makes
// what takes the messages. An error that wraps [ErrUnknownFormat] is returned for a log
// of another format.
func ScanActive(ctx context.Context, scanner Scanner, open func() (io.ReadCloser, error), begin func() func(*Message) error) (Scan, error) {
	pass := func(tree *Tree) (Scan, error) {
		log, err := open()
		if err != nil {
			return Scan{}, err
		}
		scan, err := scanner.Scan(ctx, log, ScanOptions{Tree: tree}, begin())
		return scan, errors.Join(err, log.Close())
	}
	scan, err := pass(nil)
	if err == nil && scan.Tree != nil && scan.Tree.Forked() {
		scan, err = pass(scan.Tree)
	}
	if err != nil {
		err = fmt.Errorf("read the log: %w", err)
	}
	return scan, err
}
