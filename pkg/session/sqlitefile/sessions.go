package sqlitefile

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/session"
)

// Counted is a database of sessions.
type Counted interface {
	Opened
	CountMessages(ctx context.Context, id string) (int, error)
}

// Sessions reads the sessions that a store keeps in databases.
type Sessions[D Counted] struct {
	Databases *Cache[D]
	// Place is where the database of a reference lies, if it lies in the store.
	Place func(ref session.Ref) File
	// Log opens the log of a session.
	Log func(ctx context.Context, db D, id string) (io.Reader, error)
}

// Database opens the database of a session as it was listed, and what gives it back.
func (s *Sessions[D]) Database(ctx context.Context, ref session.Ref) (db D, id string, release func(), err error) {
	return s.Databases.Listed(ctx, s.Place(ref), ref)
}

// OpenLog implements [session.LogSource]. It is of the moment at which the store was
// listed last.
func (s *Sessions[D]) OpenLog(ctx context.Context, ref session.Ref) (io.ReadCloser, error) {
	db, id, release, err := s.Database(ctx, ref)
	if err != nil {
		return nil, err
	}
	log, err := s.Log(ctx, db, id)
	return Lend(log, err, release)
}

// TailOf reads the tail of a session from what open opens of it, and counts all its
// messages.
func (s *Sessions[D]) TailOf(ctx context.Context, ref session.Ref, scan scanFunc, open func(db D, id string) (io.Reader, error)) (session.Tail, error) {
	db, id, release, err := s.Database(ctx, ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer release()
	log, err := open(db, id)
	if err != nil {
		return session.Tail{}, err
	}
	tail, err := session.TailScan(ctx, log, ref.ModTime, scan)
	if err == nil {
		tail.Messages, err = db.CountMessages(ctx, id)
	}
	return tail, err
}

type scanFunc = func(context.Context, io.Reader, session.ScanOptions, func(*session.Message) error) (session.Scan, error)

// CountMessages implements [session.MessageCounter].
func (s *Sessions[D]) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	db, id, release, err := s.Database(ctx, ref)
	if err != nil {
		return 0, err
	}
	defer release()
	return db.CountMessages(ctx, id)
}

// Close gives the databases back that were read.
func (s *Sessions[D]) Close() error { return s.Databases.Close() }
