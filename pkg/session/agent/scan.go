package agent

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// The record types (seed 001, section 7.2), and the only version of them.
const (
	kindMessage    = "message"
	kindCompaction = "compaction"
	schemaVersion  = 1
)

// Scan implements [session.Store]: every message and every compaction summary,
// in file order. A trailing partial line is ignored, as the runtime does
// (S7.9).
func (s *Store) Scan(ctx context.Context, r io.Reader, _ session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{}
	scan.lines.Result.Version = schemaVersion
	return scan.lines.Run(ctx, r, emit, scan.read)
}

type scanner struct {
	decoder
	lines    session.LineScan
	previous int64 // time of the record before
}

func (s *scanner) read(r *jsonl.Record) (bool, error) {
	if err := s.decode(r.Raw); err != nil {
		return false, err
	}
	m := &s.message
	m.CutBytes = r.CutBytes
	var ok bool
	if m.Time, _, ok = session.ParseTime(s.record.time); !ok {
		m.Time, m.TimeInferred = s.previous, true
	}
	s.previous = m.Time
	result := &s.lines.Result
	switch string(s.record.kind) {
	case kindMessage:
		result.Records++
	case kindCompaction:
	default:
		result.CountUnknown("", s.record.kind)
		return false, nil
	}
	if m.Role == session.RoleInjected {
		result.CountUnknown("role ", s.record.role)
	}
	if s.record.oddBlock != nil {
		result.CountUnknown("block ", s.record.oddBlock)
	}
	return true, s.lines.Say(r, m)
}
