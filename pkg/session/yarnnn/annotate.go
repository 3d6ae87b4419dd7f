package yarnnn

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessctl/sessctl/pkg/session"
)

// PlanAnnotation implements [session.Annotator]: the summary with the day on
// which the session began before it (seed 004, Format).
func (s *Store) PlanAnnotation(ctx context.Context, request session.ShortenRequest) (session.Annotation, error) {
	x, err := s.one(ctx, request.Ref)
	if err != nil {
		return session.Annotation{}, err
	}
	return session.Annotation{
		Runtime: session.RuntimeYarnnn, Agent: request.Ref.Agent, Session: request.Ref.ID, Store: s.root, Live: request.Ref.Path,
		Text: "[" + x.created.UTC().Format(time.DateOnly) + "] " + request.Summary.Text, At: request.Now.UTC(),
		Proof: session.LogProof{Size: request.Snapshot.Size, SHA256: request.Snapshot.SHA256},
	}, nil
}

const update = `
UPDATE chat_sessions
SET summary = $2,
    context_metadata = jsonb_set(coalesce(context_metadata, '{}'), '{summary_through}',
        to_jsonb((SELECT max(sequence_number) FROM session_messages WHERE session_id::text = $1)))
WHERE id::text = $1`

// Annotate implements [session.Annotator]. The row is locked, as the program
// locks it to append a message, and the session compared with the one that was
// summarised.
func (s *Store) Annotate(ctx context.Context, a session.Annotation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT 1 FROM chat_sessions WHERE id::text = $1 FOR UPDATE", a.Session); err != nil {
			return fmt.Errorf("lock session: %w", err)
		}
		log, err := writeLog(ctx, tx, session.Ref{ID: a.Session, Path: a.Live})
		if err != nil {
			return err
		}
		if proofOf(log) != a.Proof {
			return &session.BusyError{Path: a.Live, Reason: "something was said since it was summarised"}
		}
		if _, err := tx.Exec(ctx, update, a.Session, a.Text); err != nil {
			return fmt.Errorf("write summary: %w", err)
		}
		return s.step()
	})
}

// Recent returns the summaries of the last three sessions that began within
// 14 days before now, newest first (seed 004, Working memory injection).
func (s *Store) Recent(ctx context.Context, now time.Time) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, `SELECT summary FROM chat_sessions
		WHERE coalesce(summary, '') <> '' AND started_at > $1 AND started_at <= $2
		ORDER BY started_at DESC LIMIT $3`, now.Add(-recentWindow), now, recentSessions)
	if err != nil {
		return nil, fmt.Errorf("read recent summaries: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read recent summaries: %w", err)
	}
	return all, nil
}
