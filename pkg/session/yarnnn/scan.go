package yarnnn

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// Tail implements [session.Store].
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	log, err := s.OpenLog(ctx, ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	return session.TailScan(ctx, log, ref.ModTime, s.Scan)
}

// Scan implements [session.Store]: one message for each row of
// session_messages, exported by this package or as NDJSON by others. Roles
// that YARNNN has added since are messages that were injected.
func (s *Store) Scan(ctx context.Context, r io.Reader, _ session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{}
	return scan.lines.Run(ctx, r, emit, scan.read)
}

type scanner struct {
	cursor   jsonl.Cursor // of the row
	row      stored
	lines    session.LineScan
	message  session.Message
	previous int64 // time of the record before
}

// stored is one row. Its slices are valid until the next one is read.
type stored struct {
	id, role, content, time []byte
	kind                    []byte // session_type: the row of a session
}

func (s *scanner) read(r *jsonl.Record) (bool, error) {
	x := &s.row
	*x = stored{}
	if err := rows.Read(x, &s.cursor, r.Raw); err != nil {
		return false, err
	}
	switch {
	case len(x.kind) > 0 && len(x.role) == 0:
		s.header(x)
		return true, nil
	case len(x.role) == 0:
		return false, nil
	}
	return true, s.say(r, x)
}

// rows is what is read of a row (docs/dev/formats.md, "yarnnn").
var rows = fields.New(func(x *stored) []fields.Field {
	return []fields.Field{
		fields.Text("id", &x.id),
		fields.Text("role", &x.role),
		fields.Text("content", &x.content),
		fields.Raw("created_at", &x.time),
		fields.Text("session_type", &x.kind),
	}
})

func (s *scanner) header(x *stored) {
	result := &s.lines.Result
	if result.Headers++; result.Headers == 1 {
		result.SessionID = string(x.id)
	}
}

func (s *scanner) say(r *jsonl.Record, x *stored) error {
	m := session.Message{Parts: s.message.Parts[:0], ID: x.id, CutBytes: r.CutBytes}
	var ok bool
	if m.Time, _, ok = session.ParseTime(x.time); !ok {
		m.Time, m.TimeInferred = s.previous, true
	}
	s.previous = m.Time
	switch string(x.role) {
	case "user":
		m.Role = session.RoleUser
	case "assistant":
		m.Role = session.RoleAssistant
	case "system":
		m.Role = session.RoleSystem
	default:
		m.Role = session.RoleInjected
		m.CustomType, m.OddRole = append([]byte("role "), x.role...), x.role
	}
	m.AddText(x.content)
	s.lines.Result.Records++
	s.message = m
	return s.lines.Say(r, &s.message)
}
