package pi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// maxVersion is the newest format that is rotated (research/formats.md
// section 3).
const maxVersion = 3

// Store is one sessions directory of pi. It is a [session.Store] and a
// [session.Rotator]. It holds nothing open and may be used by several
// goroutines at once.
type Store struct {
	root string // as it was opened
	base string // the sessions directory
	// step is called after each step of Rotate, with its name; an error ends
	// the rotation there. Tests stop it so.
	step    func(name string) error
	system  durable.System
	glances session.Glances // nil: logs are listed by their beginnings alone
	workers int             // directories that List reads at a time
}

// Open returns the store of a sessions directory, or of the agent directory
// that holds one.
func Open(root string) *Store {
	if absolute, err := filepath.Abs(root); err == nil {
		root = absolute
	}
	return &Store{root: root, base: sessionsDirectory(root), step: func(string) error { return nil }}
}

// WithSystem returns the same store, which does without some mechanisms of the
// system.
func (s *Store) WithSystem(system durable.System) *Store {
	other := *s
	other.system = system
	return &other
}

// WithWorkers returns the same store, whose List reads as many directories at a
// time.
func (s *Store) WithWorkers(n int) session.Store {
	other := *s
	other.workers = n
	return &other
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimePi }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// Tail implements [session.Store].
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	log, info, err := s.openLog(ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	return piformat.Tail(ctx, log, info.Size(), info.ModTime())
}

// Scan implements [session.Store].
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	return piformat.Scan(ctx, r, o, emit)
}

// CountMessages returns the number of messages in a log, exactly.
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	log, info, err := s.openLog(ref)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	return piformat.CountMessages(ctx, io.NewSectionReader(log, 0, info.Size()))
}

func (s *Store) openLog(ref session.Ref) (*os.File, os.FileInfo, error) {
	d, name, err := s.directoryOf(ref.Path)
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	log, err := d.open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	info, err := log.Stat()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("look at log: %w", err), log.Close())
	}
	return log, info, nil
}

// Busy implements [session.Rotator]. A session is busy when its log changed
// within quiet, when it is empty, shorter than it was when it was listed, or
// gone, and when its last line is torn or its last turn unanswered.
func (s *Store) Busy(ctx context.Context, ref session.Ref, now time.Time, quiet time.Duration) error {
	d, name, err := s.directoryOf(ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(ref.Path)
	}
	if err != nil {
		return err
	}
	defer d.close()
	info, err := d.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(ref.Path)
	}
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	if err := session.CheckQuiet(ref.Path, info, now, quiet); err != nil {
		return err
	}
	if err := session.CheckWhole(ref, info); err != nil {
		return err
	}
	tail, err := s.Tail(ctx, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(ref.Path)
	}
	if err != nil {
		return err
	}
	return session.CheckAnswered(ref.Path, tail)
}

func gone(path string) error {
	return &session.BusyError{Path: path, Reason: "it has been moved or removed since it was found"}
}
