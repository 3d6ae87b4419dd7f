package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// FileLock is an exclusive lock that the kernel drops when the process ends,
// however it ends: it is never stale.
type FileLock struct {
	lock *flock.Flock
	path string  // as it is named to people
	held *Handle // of the directory, by whose path the lock was taken; may be nil
	left bool    // see [FileLock.Abandoned]
}

// Abandoned reports whether whoever had the lock before ended without giving it back:
// it was killed, unless the power failed.
func (l *FileLock) Abandoned() bool { return l.left }

// Lock takes the exclusive lock of the file at path, which it makes if it is
// missing. It does not wait: [ErrLocked] is returned when another process has
// the lock, with that process's id where it is known. [ErrNotRegular] is
// returned when anything but a regular file is at path. The file stays when the
// lock is released: removing it would let two processes hold "the" lock.
func Lock(path string) (*FileLock, error) { return lockBy(path, path) }

// lockBy takes the lock of the file that the system finds at reach, and that
// people know by another path.
func lockBy(reach, path string) (*FileLock, error) {
	if info, err := os.Lstat(reach); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("lock %s: %w", path, ErrNotRegular) // opening a pipe may wait
	}
	lock := flock.New(reach, flock.SetFlag(os.O_CREATE|os.O_RDWR|openNoFollow), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, explain("lock", path, filepath.Dir(path), err)
	}
	if !ok {
		return nil, lockedBy(reach, path)
	}
	if !isFileOf(lock, reach) { // it was removed, and another process may lock the one that is there now
		return nil, errors.Join(fmt.Errorf("lock %s: %w (the file was replaced)", path, ErrLocked), lock.Unlock())
	}
	if info, err := os.Lstat(reach); err == nil && info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		_ = os.Chmod(reach, 0o600) // a umask that forbids everything would keep the next run out
	}
	before, _ := os.ReadFile(reach) // without it nobody knows
	writeHolder(reach, strconv.Itoa(os.Getpid())+"\n")
	return &FileLock{lock: lock, path: path, left: len(before) > 0}, nil
}

// isFileOf reports whether a lock is of the file that is at a path now.
func isFileOf(lock *flock.Flock, path string) bool {
	held, err := lock.Stat()
	there, lookErr := os.Lstat(path)
	return err == nil && lookErr == nil && os.SameFile(held, there)
}

// Lock is [Lock].
func (p *Pins) Lock(path string) (*FileLock, error) {
	held, err := p.OpenHandle(filepath.Dir(path))
	if err != nil {
		return nil, explain("lock", path, filepath.Dir(path), err)
	}
	lock, err := lockBy(filepath.Join(held.Path(), filepath.Base(path)), path)
	if err != nil {
		held.Close()
		return nil, err
	}
	lock.held = held
	return lock, nil
}

// lockPause is how long a wait for a lock leaves between two tries. Whoever
// holds it holds it for seconds or longer.
const lockPause = 100 * time.Millisecond

// LockWithin takes a lock with take, which is [Lock] or [Pins.Lock], and tries
// again for as long as wait says, and until the context ends, whose error it
// returns then. Of several that wait any may be the next.
func LockWithin(ctx context.Context, take func(path string) (*FileLock, error), path string, wait time.Duration) (*FileLock, error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		lock, err := take(path)
		if !errors.Is(err, ErrLocked) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over.C:
			return nil, err
		case <-time.After(lockPause):
		}
	}
}

// Unlock releases the lock. Releasing it twice is no error.
func (l *FileLock) Unlock() error {
	if !l.lock.Locked() {
		return nil
	}
	writeHolder(l.lock.Path(), "")
	err := l.lock.Unlock()
	if l.held != nil {
		l.held.Close()
	}
	if err != nil {
		return fmt.Errorf("unlock %s: %w", l.path, bare(err))
	}
	return nil
}

// writeHolder notes who holds the lock, for people and error texts only: it is
// never asked whether the lock is held, so a failure does not matter. (On
// Windows the locked file cannot be written; there the holder is unknown.)
func writeHolder(path, text string) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC|openNoFollow, 0)
	if err != nil {
		return
	}
	defer file.Close()
	_, _ = file.WriteString(text) // only for people: the lock is held without it
}

func lockedBy(reach, path string) error {
	text, err := os.ReadFile(reach)
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err := errors.Join(err, convErr); err != nil {
		return fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	return fmt.Errorf("lock %s: %w (process %d)", path, ErrLocked, pid)
}

// LockState is what can be seen of the lock at a path.
type LockState struct {
	Exists bool // the file is there
	Held   bool // a process has the lock
	// Process is the holder, as it noted itself: if the lock is not held, the
	// one that ended without giving it back. 0 if nothing is noted.
	Process int
}

// LookAtLock tells whether the lock of the file at path is held, without
// making, changing or keeping anything. Somebody may take it a moment later.
// [ErrNotRegular] is returned for anything but a regular file.
func LookAtLock(path string) (LockState, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return LockState{}, nil
	}
	if err != nil {
		return LockState{}, fmt.Errorf("look at lock %s: %w", path, bare(err))
	}
	if !info.Mode().IsRegular() {
		return LockState{}, fmt.Errorf("look at lock %s: %w", path, ErrNotRegular)
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY|openNoFollow))
	free, err := lock.TryRLock()
	if err != nil {
		return LockState{}, fmt.Errorf("look at lock %s: %w", path, bare(err))
	}
	state := LockState{Exists: true, Held: !free}
	if text, err := os.ReadFile(path); err == nil {
		state.Process, _ = strconv.Atoi(strings.TrimSpace(string(text))) // 0: nothing is noted
	}
	if free {
		err = lock.Unlock()
	}
	return state, err
}
