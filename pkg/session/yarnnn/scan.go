package yarnnn

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// The log of a session: its row without what a summary changes, and its
// messages in order. jsonb gives the keys an order, so the same rows are
// always the same bytes. No metadata are shown as empty ones: a summary makes
// them so.
const (
	selectHead     = `SELECT (to_jsonb(s) - 'summary' - 'updated_at' - 'ended_at' - 'status' || jsonb_build_object('context_metadata', CASE WHEN jsonb_typeof(s.context_metadata) = 'object' THEN s.context_metadata - 'summary_through' ELSE coalesce(nullif(s.context_metadata, 'null'), '{}') END))::text FROM chat_sessions s WHERE s.id::text = $1`
	selectMessages = `SELECT to_jsonb(m)::text FROM session_messages m WHERE m.session_id::text = $1 ORDER BY m.sequence_number, m.id`
)

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// OpenLog implements [session.LogSource]. A session's messages are held in
// memory until the log is closed: they are read in one statement, so that they
// are of one moment.
func (s *Store) OpenLog(ctx context.Context, ref session.Ref) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // it has only read
	log, err := writeLog(ctx, tx, ref)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(log)), nil
}

func writeLog(ctx context.Context, q querier, ref session.Ref) ([]byte, error) {
	var log bytes.Buffer
	var head string
	err := q.QueryRow(ctx, selectHead, ref.ID).Scan(&head)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, &session.BusyError{Path: ref.Path, Reason: "it is not in the database any more"}
	}
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	log.WriteString(head + "\n")
	rows, err := q.Query(ctx, selectMessages, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, fmt.Errorf("read messages: %w", err)
		}
		log.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return log.Bytes(), nil
}

func proofOf(log []byte) session.LogProof {
	sum := sha256.Sum256(log)
	return session.LogProof{Size: int64(len(log)), SHA256: hex.EncodeToString(sum[:])}
}

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
	cursor   jsonl.Cursor
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
	c := &s.cursor
	c.Reset(r.Raw)
	if !c.EnterObject() {
		if err := c.End(); err != nil {
			return false, err
		}
		return false, fmt.Errorf("%w: not an object", jsonl.ErrSyntax)
	}
	var x stored
	for c.NextKey() {
		switch string(c.Key()) {
		case "id":
			x.id, _ = c.Bytes()
		case "role":
			x.role, _ = c.Bytes()
		case "content":
			x.content, _ = c.Bytes()
		case "created_at":
			x.time = c.Raw()
		case "session_type":
			x.kind, _ = c.Bytes()
		default:
			c.Skip()
		}
	}
	if err := c.End(); err != nil {
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

func (s *scanner) header(x stored) {
	result := &s.lines.Result
	if result.Headers++; result.Headers == 1 {
		result.SessionID = string(x.id)
	}
}

func (s *scanner) say(r *jsonl.Record, x stored) error {
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
		m.CustomType = append([]byte("role "), x.role...)
		s.lines.Result.CountUnknown("role ", x.role)
	}
	if len(x.content) > 0 {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartText, Text: x.content})
	}
	s.lines.Result.Records++
	s.message = m
	return s.lines.Say(r, &s.message)
}
