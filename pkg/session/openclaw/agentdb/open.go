package agentdb

import (
	"context"
	"errors"
	"sync"
)

// Databases are the open databases of a store. A copy may be gigabytes large,
// so one that was made is used until the next listing. The zero value is ready.
type Databases struct {
	mu   sync.Mutex
	open map[string]*lease // by path
}

// lease is a database and how many use it.
type lease struct {
	*Database
	users   int
	retired bool // to be closed by its last user
}

// Fresh returns a database as it is now, and what gives it back.
func (s *Databases) Fresh(ctx context.Context, f File) (*Database, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.open[f.Path()]; held != nil && held.current() {
		return held.Database, s.lend(held), nil
	}
	return s.replace(ctx, f)
}

// Known returns a database as Fresh has last seen it, so that all of what one
// listing names is of one moment, and what gives it back.
func (s *Databases) Known(ctx context.Context, f File) (*Database, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.open[f.Path()]; held != nil && held.unchanged() == nil {
		return held.Database, s.lend(held), nil
	}
	return s.replace(ctx, f)
}

// replace opens a database anew.
func (s *Databases) replace(ctx context.Context, f File) (*Database, func(), error) {
	d, err := Open(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	if old := s.open[f.Path()]; old != nil {
		_ = s.retire(old) // it was only read
	}
	if s.open == nil {
		s.open = make(map[string]*lease)
	}
	held := &lease{Database: d}
	s.open[f.Path()] = held
	return d, s.lend(held), nil
}

// lend counts a user in and returns what counts it out, once.
func (s *Databases) lend(held *lease) func() {
	held.users++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if held.users--; held.users == 0 && held.retired {
			_ = held.Close() // it was only read
		}
	})
}

// retire closes a database as soon as nobody uses it.
func (s *Databases) retire(held *lease) error {
	held.retired = true
	if held.users > 0 {
		return nil
	}
	return held.Close()
}

// Close closes all of them, those that are in use when they are given back.
func (s *Databases) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for path, held := range s.open {
		err = errors.Join(err, s.retire(held))
		delete(s.open, path)
	}
	return err
}
