package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Locks returns the lock files in the store's sessions directories, by path.
// Directories that cannot be read have none.
func (s *Store) Locks(ctx context.Context, now time.Time) ([]session.RuntimeLock, error) {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	agents, err := (&lister{store: s, root: root, now: now}).agents()
	if err != nil {
		return nil, err
	}
	var locks []session.RuntimeLock
	for _, agent := range agents {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := s.locksOf(root, agent, now)
		if err != nil {
			return nil, err
		}
		locks = append(locks, found...)
	}
	return locks, nil
}

func (s *Store) locksOf(root *os.Root, agent string, now time.Time) ([]session.RuntimeLock, error) {
	d, err := s.directory(root, agent)
	if err != nil {
		return nil, nil // listing the store says why
	}
	defer d.close()
	names, err := d.names()
	if err != nil {
		return nil, nil
	}
	slices.Sort(names)
	var locks []session.RuntimeLock
	for _, name := range names {
		if !strings.HasSuffix(name, lockEnd) {
			continue
		}
		lock, err := d.lock(name, now)
		if errors.Is(err, fs.ErrNotExist) {
			continue // given back since
		}
		if err != nil {
			return nil, fmt.Errorf("read lock %s: %w", d.at(name), err)
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

func (d *directory) lock(name string, now time.Time) (session.RuntimeLock, error) {
	info, err := d.stat(name)
	if err != nil {
		return session.RuntimeLock{}, err
	}
	read, err := d.readLock(name)
	if err != nil {
		return session.RuntimeLock{}, err
	}
	lock := session.RuntimeLock{Path: d.at(name), Process: read.pid, Since: read.created}
	if lock.Since.IsZero() || lock.Since.After(now) {
		lock.Since = info.ModTime()
	}
	lock.Alive = read.pid != 0 && read.alive()
	holder, err := d.lockedBy(name, now)
	lock.Stale = holder == ""
	return lock, err
}
