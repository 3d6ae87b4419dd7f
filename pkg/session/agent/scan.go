package agent

import (
	"context"
	"io"
	"slices"
	"strconv"

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
	previous int64   // time of the record before
	seqs     []int64 // of the messages so far
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
		if seq, err := strconv.ParseInt(string(m.ID), 10, 64); err == nil {
			s.seqs = append(s.seqs, seq)
		}
	case kindCompaction:
		m.FirstKept = s.firstKept()
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

// firstKept is the seq of the first message that a compaction keeps: the first
// whose seq is not below firstKeptSeq, which may be that of a compaction (seed
// 001, 7.4 step 3 and 7.5.3 step 2). It is empty if none before it stays.
func (s *scanner) firstKept() []byte {
	least, err := strconv.ParseInt(string(s.record.firstKept), 10, 64)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(s.seqs, func(seq int64) bool { return seq >= least })
	if i < 0 {
		return nil
	}
	return strconv.AppendInt(nil, s.seqs[i], 10)
}
