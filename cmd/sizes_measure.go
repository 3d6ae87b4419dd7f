package cmd

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// measureAll makes the row of every session. Logs that are not known from an
// earlier run are read, as many at a time as there are workers.
func (a *app) measureAll(ctx context.Context, sessions []found, o sizesOptions) ([]*sessionRow, error) {
	m := measurer{app: a, threshold: o.Threshold, exact: o.Exact || totalBytes(sessions) <= exactCountBytes}
	rows := make([]*sessionRow, len(sessions))
	var unknown []int
	for i := range sessions {
		if m.known(&sessions[i]) {
			rows[i] = m.measure(ctx, &sessions[i])
		} else {
			unknown = append(unknown, i)
		}
	}
	err := session.Spread(ctx, a.workers(), len(unknown), func(_, i int) {
		rows[unknown[i]] = m.measure(ctx, &sessions[unknown[i]])
	})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.unread != nil && !errors.Is(row.unread, session.ErrUnknownFormat) {
			a.notice(note{Path: row.Path, Message: row.unread.Error()})
		}
	}
	return rows, nil
}

// measurer makes rows of `sizes`.
type measurer struct {
	*app
	threshold int64
	exact     bool // messages are to be counted, not estimated
}

// known says whether a row can be made without reading.
func (m *measurer) known(s *found) bool {
	if s.Kind == session.KindDatabase {
		return true
	}
	seen, ok := m.glances.Seen(s.Path)
	return ok && (seen.Tail.MessagesExact || !m.exact)
}

// measure reads the end of one log. A log that cannot be read is a row that
// says so, not the end of the run.
func (m *measurer) measure(ctx context.Context, s *found) *sessionRow {
	row := &sessionRow{
		Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Kind: string(s.Kind), Path: s.Path,
		Bytes: s.Bytes, ContextWindow: s.ContextWindow, State: string(s.State), Reason: s.Reason, last: s.ModTime,
	}
	if s.Counter.Tokens > 0 {
		row.IndexTokens = &s.Counter.Tokens
	}
	if !s.Expires.IsZero() {
		expires := s.Expires.UTC().Format(time.RFC3339)
		row.Expires = &expires
	}
	if s.Kind == session.KindDatabase {
		row.Tokens, row.TokenSource = s.Counter.Tokens, session.TokensFromIndex
	} else if err := m.readLog(ctx, row, s); err != nil {
		row.State, row.Reason, row.TokenSource = string(session.StateUnsupported), err.Error(), session.TokensFromEstimate
		row.unread = err
	}
	row.Over = row.Tokens >= m.threshold
	row.LastActivity = row.last.UTC().Format(time.RFC3339)
	if s.ContextWindow > 0 {
		percent := math.Round(1000*float64(row.Tokens)/float64(s.ContextWindow)) / 10
		row.Percent = &percent
	}
	return row
}

func (m *measurer) readLog(ctx context.Context, r *sessionRow, s *found) error {
	tail, err := m.tail(ctx, s)
	if err != nil {
		return err
	}
	r.Tokens, r.TokenSource = tail.Tokens, tail.TokenSource
	r.Messages, r.MessagesSource = tail.Messages, "count"
	if !tail.LastActivity.IsZero() {
		r.last = tail.LastActivity
	}
	if tail.MessagesExact {
		return nil
	}
	if counter, ok := s.store.(messageCounter); ok && m.exact {
		if r.Messages, err = counter.CountMessages(ctx, s.Ref); err == nil {
			m.glances.Counted(s.Path, r.Messages)
		}
		return err
	}
	r.MessagesSource = "estimate"
	return nil
}

// messageCounter is a store that can count a log's messages without reading
// what they say.
type messageCounter interface {
	CountMessages(ctx context.Context, ref session.Ref) (int, error)
}
