package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Busy implements [session.Rotator]. A session is busy when a live process
// holds the lock of its log or of the index, when the log changed within
// quiet, when it is empty, shorter than it was when it was listed, or gone,
// and when its last line is torn or its last turn unanswered. No lock does not
// mean idle: the runtime gives it back while the model answers
// (research/real-runtimes.md section 3). So a session that nobody seems to write
// is busy all the same, with Served set, while a gateway runs for the store. A
// session in a database is [session.ErrUnsupported].
func (s *Store) Busy(ctx context.Context, ref session.Ref, now time.Time, quiet time.Duration) error {
	if inDatabase(ref) {
		return unsupported(ref.Path, onlyGateway)
	}
	d, name, err := s.directoryOf(ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(ref.Path)
	}
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.locked(name, now); err != nil {
		return err
	}
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
	if err := session.CheckAnswered(ref.Path, tail); err != nil {
		return err
	}
	return s.unserved(ref.Path)
}

// locked returns a [*session.BusyError] if the lock of a log or of the index
// is held.
func (d *directory) locked(name string, now time.Time) error {
	for _, lock := range []string{name + lockEnd, indexName + lockEnd} {
		holder, err := d.lockedBy(lock, now)
		if err != nil {
			return err
		}
		if holder != "" {
			return &session.BusyError{Path: d.at(name), Reason: holder}
		}
	}
	return nil
}

func gone(path string) error {
	return &session.BusyError{Path: path, Reason: "it has been moved or removed since it was found"}
}
