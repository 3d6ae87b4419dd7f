package yarnnn

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessctl/sessctl/pkg/session"
)

// The defaults of seed 004.
const (
	DefaultInactivity   = 4 * time.Hour // Change 2
	DefaultUserMessages = 5             // Change 1, Trigger
	recentSessions      = 3             // Change 1, Working memory injection
	recentWindow        = 14 * 24 * time.Hour
)

// Options are the settings of seed 004; 0 is the default.
type Options struct {
	Inactivity   time.Duration // how long nothing must have been said
	UserMessages int           // that a session must have
	User         string        // only sessions of this user_id; "" for all
}

// Store is one database. It is a [session.Store], [session.LogSource],
// [session.Annotator], [session.Shaper], [session.Trigger] and
// [session.Liveness]. It connects when it is first asked and keeps that one
// connection, which is used by one goroutine at a time.
type Store struct {
	dsn     string
	root    string // the DSN without what is secret in it
	options Options

	mu   sync.Mutex
	conn *pgx.Conn
	// step is called inside the transaction of Annotate. Tests stop there.
	step func() error
}

// Open returns the store of a PostgreSQL database. The DSN is a URL or a list
// of keywords and values; nothing is connected yet.
func Open(dsn string, o Options) *Store {
	if o.Inactivity <= 0 {
		o.Inactivity = DefaultInactivity
	}
	if o.UserMessages <= 0 {
		o.UserMessages = DefaultUserMessages
	}
	return &Store{dsn: dsn, root: publicName(dsn), options: o, step: func() error { return nil }}
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

// Strategy implements [session.Shaper].
func (s *Store) Strategy() string { return "annotate" }

// Keep implements [session.Shaper].
func (s *Store) Keep() session.Keep { return session.Keep{} }

// connect returns the connection. Its caller holds the lock until it is done
// with it.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	if s.conn != nil && !s.conn.IsClosed() {
		return s.conn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.root, hideSecrets(err))
	}
	s.conn = conn
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

// Close ends the connection.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	return s.conn.Close(ctx)
}

// path names a session for people.
func (s *Store) path(id string) string { return s.root + "/chat_sessions/" + id }
