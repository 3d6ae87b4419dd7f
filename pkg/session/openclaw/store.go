package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

const (
	agentsName   = "agents"
	sessionsName = "sessions"
)

// maxVersion is the newest transcript format that is rotated: the last of the
// file era (research/real-runtimes.md section 4 has 4, in the database).
const maxVersion = 3

// Store is one state directory of OpenClaw. It is a [session.Store], a
// [session.Rotator], a [session.Resetter] and, for the sessions of a database,
// a [session.LogSource] and a [session.Adviser]. It holds nothing open but the
// databases that it has read, until it is closed, and may be used by several
// goroutines at once.
type Store struct {
	root string
	// step is called after each step of Rotate, with its name; an error ends
	// the rotation there. Tests stop it so.
	step func(name string) error
	// pause waits for what somebody else is writing. Tests do not.
	pause func(ctx context.Context, d time.Duration) error
	// options say how a running gateway is found and asked.
	options Options
	// databases are those of the agents.
	databases agentdb.Databases
}

// Open returns the store of a state directory: the one that holds agents/.
// Nothing is read yet.
func Open(root string) *Store { return OpenWith(root, Options{}) }

// OpenWith is Open with another way to find and to ask a running gateway.
func OpenWith(root string, o Options) *Store {
	if absolute, err := filepath.Abs(root); err == nil {
		root = absolute
	}
	return &Store{root: root, step: func(string) error { return nil }, pause: pause, options: o}
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeOpenClaw }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// Close gives the databases back that were read.
func (s *Store) Close() error { return s.databases.Close() }

// Tail implements [session.Store]. A log that is shorter than it was when it
// was listed is waited for, for a second: it is being rewritten.
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	if ref.Kind == session.KindStored {
		return s.storedTail(ctx, ref)
	}
	log, _, err := s.openLog(ctx, ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	return s.fileTail(ctx, ref, log)
}

// CountMessages returns the number of messages in a log, exactly.
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	if ref.Kind == session.KindStored {
		return s.countStored(ctx, ref)
	}
	log, info, err := s.openLog(ctx, ref)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	plain, err := plainText(io.NewSectionReader(log, 0, info.Size()))
	if err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	defer plain.Close()
	return piformat.CountMessages(ctx, plain)
}

// rewriteWait is how often, and how long each time, a log is waited for that
// is shorter than it was (research/real-runtimes.md section 3: retry after a
// second).
const (
	rewriteTries = 4
	rewriteWait  = 250 * time.Millisecond
)

// openLog opens a log that this store has listed.
func (s *Store) openLog(ctx context.Context, ref session.Ref) (*os.File, os.FileInfo, error) {
	if ref.Kind == session.KindDatabase {
		return nil, nil, fmt.Errorf("read %s: a database: %w", ref.Path, session.ErrUnknownFormat)
	}
	d, name, err := s.readableOf(ref.Path)
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	log, err := d.open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	info, err := log.Stat()
	for try := 0; err == nil && info.Size() < ref.Bytes && try < rewriteTries; try++ {
		if err = s.pause(ctx, rewriteWait); err == nil {
			info, err = log.Stat()
		}
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("look at log: %w", err), log.Close())
	}
	return log, info, nil
}

// pause waits, or returns the error of a context that ends earlier.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
