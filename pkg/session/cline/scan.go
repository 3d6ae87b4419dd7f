package cline

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/cline/hubdb"
)

// scanBuffer is how much of a document is read at a time, in bytes.
const scanBuffer = 64 << 10

// Scan implements [session.Store]: what is said in a session, in file order. A
// message that holds the results of several tools is as many messages. Memory
// grows by the longest message. The rows that a deleted session has left in the
// databases of the hub repeat what it said, and say nothing by themselves.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	log := bufio.NewReaderSize(r, scanBuffer)
	const rows = `{"type":"` + hubdb.TypeLeft + `"`
	if head, _ := log.Peek(len(rows)); string(head) == rows { // one that is shorter is none
		var lines session.LineScan
		_, err := lines.Run(ctx, log, nil, func(*jsonl.Record) (bool, error) { return true, nil })
		return lines.Result, err
	}
	return newScanner(o).run(ctx, log, emit)
}

// scanner is the state of one scan.
type scanner struct {
	decoder
	lines    session.LineScan
	thinking bool
	previous int64 // time of the message before
	elements int   // of the array of messages so far, without those that are only shown
}

func newScanner(o session.ScanOptions) *scanner { return &scanner{thinking: o.Thinking} }

func (s *scanner) run(ctx context.Context, r io.Reader, emit func(*session.Message) error) (session.Scan, error) {
	err := s.lines.RunDocument(ctx, bufio.NewReaderSize(r, scanBuffer), emit, s.element)
	result := &s.lines.Result
	if err == nil && result.Counts.Records == 0 && result.Counts.Torn && result.Counts.Bytes > 0 {
		err = errNoDocument
	}
	return *result, err
}

// errNoDocument is returned of a file in which no JSON object ends and no message
// is whole.
var errNoDocument = errors.Join(session.ErrUnknownFormat, errors.New("no messages of Cline"))

// element takes one message.
func (s *scanner) element(r *jsonl.Record) (known bool, err error) {
	err = s.decode(r.Raw)
	if !s.shown {
		s.elements++
	}
	if err == nil && len(s.kind) > 0 && len(s.role) == 0 && !s.known() {
		s.lines.Result.Meet(session.Strange{Runtime: session.RuntimeCline, Type: s.kind, Line: r.Line, Raw: r.Raw, Aside: s.shown})
	}
	if err != nil || !s.known() {
		return false, err
	}
	if len(s.odd) > 0 {
		s.lines.Result.CountUnknown("block ", s.odd)
	}
	when, _, timed := session.ParseTime(s.when)
	if !timed {
		when = s.previous
	}
	s.previous = when
	s.lines.Result.Records++
	for i := range s.messages {
		m := &s.messages[i]
		m.Time, m.TimeInferred, m.OutOfContext = when, !timed, s.shown
		if !s.thinking {
			m.Parts = slices.DeleteFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartThinking })
		}
		if err := s.lines.Say(r, m); err != nil {
			return true, err
		}
	}
	return true, nil
}
