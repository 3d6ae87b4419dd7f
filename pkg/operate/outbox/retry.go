package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"
)

// What is kept of events that are over (docs/events.md).
const (
	keepDone     = 7 * 24 * time.Hour
	keepDead     = 90 * 24 * time.Hour
	keepAtMost   = 1000
	removeAtMost = 500 // at a time, so that no command is held up for long
)

func (o *Outbox) isThere(path string) bool {
	_, err := o.Pins.Lstat(path)
	return err == nil
}

// Retry lets dead letters be sent again, and what waits be sent at once: the
// events with these ids, or all. It returns how many there are. An id that
// has nothing to be sent is fs.ErrNotExist; another process that delivers is
// waited for, for LockWait, and then is durable.ErrLocked.
func (o *Outbox) Retry(ctx context.Context, ids ...string) (int, error) {
	if !o.isThere(o.dir.path) {
		if len(ids) > 0 {
			return 0, fmt.Errorf("send %s again: %w", ids[0], fs.ErrNotExist)
		}
		return 0, nil
	}
	lock, err := o.lock(ctx)
	if err != nil {
		return 0, fmt.Errorf("send events again: %w", err)
	}
	defer lock.Unlock()
	paths, err := o.toRetry(ids)
	if err != nil {
		return 0, err
	}
	if len(paths) > 0 {
		err = o.Pins.RemoveFile(o.dir.silence()) // whoever asks for it thinks that they answer again
	}
	for i, path := range paths {
		if err == nil {
			err = o.again(path)
		}
		if err != nil {
			return i, fmt.Errorf("send events again: %w", err)
		}
	}
	return len(paths), nil
}

// toRetry are the files of these events, or of all that were not told.
func (o *Outbox) toRetry(ids []string) (paths []string, err error) {
	if len(ids) == 0 {
		for _, dir := range []string{o.dir.dead(), o.dir.path} {
			names, _, err := o.names(dir)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
		return paths, nil
	}
	for _, id := range ids {
		path := o.find(id)
		if path == "" || filepath.Dir(path) == o.dir.done() {
			return nil, fmt.Errorf("send %s again: %w", id, fs.ErrNotExist)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// again makes the deliveries of an event that are not done new ones. The file is
// written where it is and moved then: killed between the two it is still a file
// that Retry finds.
func (o *Outbox) again(path string) error {
	s, err := o.read(path)
	if err != nil {
		return nil // Deliver sets it aside, and tells
	}
	for i, d := range s.Deliveries {
		if d.State == Dead || d.State == Waiting {
			s.Deliveries[i] = Delivery{Target: d.Target, State: Waiting, Error: d.Error}
		}
	}
	if err := o.replace(path, s); err != nil {
		return err
	}
	to := filepath.Join(o.dir.path, filepath.Base(path))
	if s.state() != Waiting || path == to {
		return nil
	}
	return o.Pins.MoveFile(path, to)
}

// crowded says whether there is more that is over than is kept.
func (o *Outbox) crowded() bool {
	for _, dir := range []string{o.dir.done(), o.dir.dead()} {
		if names, _, err := o.names(dir); err == nil && len(o.toRemove(dir, names)) > 0 {
			return true
		}
	}
	return false
}

// toRemove are the names of events in a directory that are kept no longer: those
// that are too old by the time in their id, and those beyond the newest.
func (o *Outbox) toRemove(dir string, names []string) (gone []string) {
	age := keepDone
	if dir == o.dir.dead() {
		age = keepDead
	}
	for i, name := range names {
		id, err := ulid.ParseStrict(name[:ulid.EncodedSize])
		if err != nil || len(names)-i <= keepAtMost && o.Now().Sub(ulid.Time(id.Time())) <= age {
			continue
		}
		gone = append(gone, name)
	}
	return gone[:min(len(gone), removeAtMost)]
}

// prune removes what is kept no longer. The caller holds the lock.
func (o *Outbox) prune() error {
	for _, dir := range []string{o.dir.done(), o.dir.dead()} {
		names, _, err := o.names(dir)
		if err != nil {
			return fmt.Errorf("list the outbox: %w", err)
		}
		for _, name := range o.toRemove(dir, names) {
			if err := o.Pins.RemoveFile(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove an event that was told: %w", err)
			}
		}
	}
	return nil
}
