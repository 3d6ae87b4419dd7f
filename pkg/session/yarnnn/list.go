package yarnnn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessctl/sessctl/pkg/session"
)

// row is what is asked of one session.
type row struct {
	id, kind, status, summary string
	created                   time.Time
	last                      *time.Time // time of the last message
	messages, people          int        // in all, and of the user
	bytes                     int64
	through                   *int64 // sequence number that the summary reaches, if it is ours
	highest                   *int64 // sequence number of the last message
}

const selectRows = `
SELECT s.id::text, s.session_type, s.status, coalesce(s.summary, ''), s.created_at,
       max(m.created_at), count(m.id), count(m.id) FILTER (WHERE m.role = 'user'),
       coalesce(sum(octet_length(m.content)), 0)::bigint,
       CASE WHEN s.context_metadata->>'summary_through' ~ '^[0-9]{1,18}$' THEN (s.context_metadata->>'summary_through')::bigint END,
       max(m.sequence_number)::bigint
FROM chat_sessions s LEFT JOIN session_messages m ON m.session_id = s.id`

func scanRow(r pgx.Row) (row, error) {
	var x row
	err := r.Scan(&x.id, &x.kind, &x.status, &x.summary, &x.created, &x.last, &x.messages, &x.people, &x.bytes, &x.through, &x.highest)
	return x, err
}

// List implements [session.Store]: the session in which something was said
// last comes first. The type of a session stands for its agent.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var listing session.Listing
	conn, err := s.connect(ctx)
	if err != nil {
		return listing, err
	}
	rows, err := conn.Query(ctx, selectRows+" WHERE $1 = '' OR s.user_id::text = $1 GROUP BY s.id ORDER BY max(m.created_at) DESC NULLS LAST, s.id", s.options.User)
	if err != nil {
		return listing, fmt.Errorf("list sessions: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (row, error) { return scanRow(r) })
	if err != nil {
		return listing, fmt.Errorf("list sessions: %w", err)
	}
	seen := map[string]bool{}
	for _, x := range all {
		ref := s.ref(x)
		listing.Refs = append(listing.Refs, ref)
		if !seen[ref.Agent] {
			seen[ref.Agent] = true
			listing.Agents = append(listing.Agents, ref.Agent)
		}
	}
	return listing, nil
}

func (s *Store) ref(x row) session.Ref {
	ref := session.Ref{
		Runtime: session.RuntimeYarnnn, Agent: session.CleanID(x.kind), ID: session.CleanID(x.id), Store: s.root, Path: s.path(x.id),
		Kind: session.KindStored, Primary: true, Bytes: x.bytes, ModTime: x.created, State: session.StateIdle,
	}
	if x.last != nil {
		ref.ModTime = *x.last
	}
	if time.Since(ref.ModTime) < session.RecentChange {
		ref.State, ref.Reason = session.StateBusy, "something was said a moment ago"
	}
	return ref
}

// one asks for one session. [session.BusyError] if it is not there any more.
func (s *Store) one(ctx context.Context, ref session.Ref) (row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.connect(ctx)
	if err != nil {
		return row{}, err
	}
	x, err := scanRow(conn.QueryRow(ctx, selectRows+" WHERE s.id::text = $1 GROUP BY s.id", ref.ID))
	if errors.Is(err, pgx.ErrNoRows) {
		return row{}, &session.BusyError{Path: ref.Path, Reason: "it is not in the database any more"}
	}
	if err != nil {
		return row{}, fmt.Errorf("read session: %w", err)
	}
	return x, nil
}

// Due implements [session.Trigger] (seed 004, Change 1).
func (s *Store) Due(ctx context.Context, q session.DueQuestion) (bool, string, error) {
	x, err := s.one(ctx, q.Ref)
	if err != nil {
		return false, "", err
	}
	due, reason := s.due(x, q.Now)
	return due, reason, nil
}

func (s *Store) due(x row, now time.Time) (bool, string) {
	switch {
	case x.last == nil || x.people < s.options.UserMessages:
		return false, fmt.Sprintf("%d messages of the user, due from %d", x.people, s.options.UserMessages)
	case now.Sub(*x.last) < s.options.Inactivity:
		return false, fmt.Sprintf("something was said %s ago, due after %s", now.Sub(*x.last).Round(time.Second), s.options.Inactivity)
	case x.summary != "" && x.through == nil:
		return false, "it has a summary of the program's own"
	case x.summary != "" && x.highest != nil && *x.through >= *x.highest:
		return false, "its summary is up to date"
	}
	return true, ""
}

// Busy implements [session.Liveness].
func (s *Store) Busy(ctx context.Context, ref session.Ref, now time.Time, quiet time.Duration) error {
	x, err := s.one(ctx, ref)
	if err != nil {
		return err
	}
	if x.last != nil && now.Sub(*x.last).Abs() < quiet {
		return &session.BusyError{Path: ref.Path, Reason: "something was said a moment ago"}
	}
	return nil
}
