package sqlitefile

import (
	"context"
	"errors"
	"io"
	"sync"
)

// Opened is what a [Cache] holds: a [*Database], or what wraps one.
type Opened interface {
	Current() bool    // the files look as they did when it was opened
	Unchanged() error // nothing of what it reads has changed
	Close() error
}

// Cache holds the open databases of a store. A copy may be large, so one that
// was made is used until the next listing. Open is to be set.
type Cache[D Opened] struct {
	// Open opens a database.
	Open func(ctx context.Context, f File) (D, error)

	mu   sync.Mutex
	open map[string]*lease[D] // by path
}

// lease is a database and how many use it.
type lease[D Opened] struct {
	db      D
	users   int
	retired bool // to be closed by its last user
}

// Fresh returns a database as it is now, and what gives it back.
func (s *Cache[D]) Fresh(ctx context.Context, f File) (D, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.open[f.Path()]; held != nil && held.db.Current() {
		return held.db, s.lend(held), nil
	}
	return s.replace(ctx, f)
}

// Known returns a database as Fresh has last seen it, so that all of what one
// listing names is of one moment, and what gives it back.
func (s *Cache[D]) Known(ctx context.Context, f File) (D, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.open[f.Path()]; held != nil && held.db.Unchanged() == nil {
		return held.db, s.lend(held), nil
	}
	return s.replace(ctx, f)
}

// replace opens a database anew.
func (s *Cache[D]) replace(ctx context.Context, f File) (D, func(), error) {
	d, err := s.Open(ctx, f)
	if err != nil {
		return d, nil, err
	}
	if old := s.open[f.Path()]; old != nil {
		_ = s.retire(old) // it was only read
	}
	if s.open == nil {
		s.open = make(map[string]*lease[D])
	}
	held := &lease[D]{db: d}
	s.open[f.Path()] = held
	return d, s.lend(held), nil
}

// lend counts a user in and returns what counts it out, once.
func (s *Cache[D]) lend(held *lease[D]) func() {
	held.users++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if held.users--; held.users == 0 && held.retired {
			_ = held.db.Close() // it was only read
		}
	})
}

// retire closes a database as soon as nobody uses it.
func (s *Cache[D]) retire(held *lease[D]) error {
	held.retired = true
	if held.users > 0 {
		return nil
	}
	return held.db.Close()
}

// Close closes all of them, those that are in use when they are given back.
func (s *Cache[D]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for path, held := range s.open {
		err = errors.Join(err, s.retire(held))
		delete(s.open, path)
	}
	return err
}

// Lent is what is read of a database that a [Cache] has lent.
type Lent struct {
	io.Reader
	Release func() // gives the database back
}

// Close implements io.Closer.
func (l *Lent) Close() error {
	l.Release()
	return nil
}
