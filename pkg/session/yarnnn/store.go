package yarnnn

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/session"
)

// The defaults (docs/dev/formats.md, "yarnnn").
const (
	defaultInactivity   = 4 * time.Hour
	defaultUserMessages = 5
	recentSessions      = 3
	recentWindow        = 14 * 24 * time.Hour
)

// Options say when a session is summarised, and whose are read; 0 is the default.
type Options struct {
	Inactivity   time.Duration // how long nothing must have been said
	UserMessages int           // that a session must have
	User         string        // only sessions of this user_id; "" for all
}

// Store is one database, a [session.Store]. It connects when it is first asked
// and keeps that one connection, which is used by one goroutine at a time,
// until it is closed. A log that is open has a connection of its own.
type Store struct {
	dsn     string
	root    string // the DSN without what is secret in it
	options Options

	mu   sync.Mutex
	conn *pgx.Conn
	// Step is called inside the transaction of Annotate, before it commits; an
	// error ends it there. nil but in tests, which stop it so.
	Step func() error
}

// Open returns the store of a PostgreSQL database. The DSN is a URL or a list
// of keywords and values; nothing is connected yet.
func Open(dsn string, o Options) *Store {
	if o.Inactivity <= 0 {
		o.Inactivity = defaultInactivity
	}
	if o.UserMessages <= 0 {
		o.UserMessages = defaultUserMessages
	}
	return &Store{dsn: dsn, root: publicName(dsn), options: o}
}

// publicName is a DSN without user, password and options.
func publicName(dsn string) string {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "postgresql://?"
	}
	host := c.Host
	if strings.HasPrefix(host, "/") {
		host = "localhost"
	}
	u := url.URL{Scheme: "postgresql", Host: fmt.Sprintf("%s:%d", host, c.Port), Path: "/" + c.Database}
	return u.String()
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeYarnnn }

// Root implements [session.Store]: the database without its password.
func (s *Store) Root() string { return s.root }

// connect returns the connection. Its caller holds the lock until it is done
// with it.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	if s.conn != nil && !s.conn.IsClosed() {
		return s.conn, nil
	}
	conn, err := s.dial(ctx)
	if err == nil {
		s.conn = conn
	}
	return conn, err
}

// dial makes a connection.
func (s *Store) dial(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	config, err := pgx.ParseConfig(s.dsn)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.root, hideSecrets(err))
	}
	if !strings.Contains(s.dsn, "default_query_exec_mode") {
		// A pooler in transaction mode, as pgbouncer is by default at hosts, gives every
		// statement another connection: what one has prepared the next does not know.
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.root, hideSecrets(err))
	}
	return conn, nil
}

const connectTimeout = 10 * time.Second

// secretError is an error of the driver whose text may quote the DSN.
type secretError struct{ err error }

// Error implements error.
func (e *secretError) Error() string {
	text := e.err.Error()
	if i := strings.Index(text, "`"); i >= 0 { // pgx quotes the connection string in backquotes
		if j := strings.LastIndex(text, "`"); j > i {
			text = text[:i] + "the DSN" + text[j+1:]
		}
	}
	return text
}

// Unwrap returns the driver's error.
func (e *secretError) Unwrap() error { return e.err }

func hideSecrets(err error) error { return &secretError{err} }

// Close ends the connection. The store connects anew if it is asked again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return s.conn.Close(ctx)
}

// closeTimeout is how long a server that does not answer keeps a run from
// ending.
const closeTimeout = 2 * time.Second

// path names a session for people.
func (s *Store) path(id string) string { return s.root + "/chat_sessions/" + id }

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
		ref.State, ref.Reason = session.StateBusy, session.ReasonJustSaid.Text()
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
		return row{}, &session.BusyError{Path: ref.Path, Reason: session.ReasonGoneDatabase.Text()}
	}
	if err != nil {
		return row{}, fmt.Errorf("read session: %w", err)
	}
	return x, nil
}

// Due implements [session.Trigger].
func (s *Store) Due(ctx context.Context, q session.DueQuestion) (bool, string, error) {
	x, err := s.one(ctx, q.Ref)
	if err != nil {
		return false, "", err
	}
	due, reason := s.due(x, q)
	return due, reason, nil
}

func (s *Store) due(x row, q session.DueQuestion) (bool, string) {
	switch {
	case x.summary != "" && x.through == nil:
		return false, session.ReasonOwnSummary.Text()
	case x.summary != "" && x.highest != nil && *x.through >= *x.highest:
		return false, session.ReasonSummaryFresh.Text()
	case q.Asked:
	case x.last == nil || x.people < s.options.UserMessages:
		return false, session.ReasonFewOfUser.Text(x.people, s.options.UserMessages)
	case q.Now.Sub(*x.last) < s.options.Inactivity:
		return false, session.ReasonSaidRecently.Text(q.Now.Sub(*x.last).Round(time.Second), s.options.Inactivity)
	}
	return true, ""
}

// Busy implements [session.Liveness].
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	x, err := s.one(ctx, q.Ref)
	if err != nil || x.last == nil {
		return err
	}
	return session.CheckIdle(q.Ref.Path, *x.last, q.Now, q.Quiet)
}
