package yarnnn

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessctl/sessctl/pkg/session"
)

// PlanAnnotation implements [session.Annotator]: the summary with the day on
// which the session began before it.
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

// update leaves metadata that are no object as they are: the summary is taken
// for the program's own then, and stays.
const update = `
UPDATE chat_sessions
SET summary = $2,
    context_metadata = CASE WHEN coalesce(jsonb_typeof(context_metadata), 'null') IN ('object', 'null')
        THEN jsonb_set(coalesce(nullif(context_metadata, 'null'), '{}'), '{summary_through}',
            to_jsonb((SELECT max(sequence_number) FROM session_messages WHERE session_id::text = $1)))
        ELSE context_metadata END
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
		log, err := newRowLog(ctx, tx, session.Ref{ID: a.Session, Path: a.Live})
		if err != nil {
			return err
		}
		proof, err := proofOf(log)
		if err != nil {
			return err
		}
		if proof != a.Proof {
			return &session.BusyError{Path: a.Live, Reason: session.ReasonSaidSinceSummary.Text()}
		}
		if _, err := tx.Exec(ctx, update, a.Session, a.Text); err != nil {
			return fmt.Errorf("write summary: %w", err)
		}
		if s.Step != nil {
			return s.Step()
		}
		return nil
	})
}

// Recent implements [session.RecentReader]. It returns the summaries of the
// last three sessions of a user that began within 14 days before now, newest
// first, as the program puts them in its prompt. It returns
// [session.ErrManyUsers] if Options.User does not say whose.
func (s *Store) Recent(ctx context.Context, now time.Time) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(ctx, `SELECT summary, coalesce(user_id::text, '') FROM chat_sessions
		WHERE coalesce(summary, '') <> '' AND started_at > $1 AND started_at <= $2 AND ($3 = '' OR user_id::text = $3)
		ORDER BY started_at DESC, id`, now.Add(-recentWindow), now, s.options.User)
	if err != nil {
		return nil, fmt.Errorf("read recent summaries: %w", err)
	}
	defer rows.Close()
	var recent []string
	var first, user, summary string
	for seen := 0; rows.Next(); seen++ {
		if err := rows.Scan(&summary, &user); err != nil {
			return nil, fmt.Errorf("read recent summaries: %w", err)
		}
		if seen == 0 {
			first = user
		}
		if user != first {
			return nil, session.ErrManyUsers
		}
		if seen < recentSessions {
			recent = append(recent, summary)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read recent summaries: %w", err)
	}
	return recent, nil
}
