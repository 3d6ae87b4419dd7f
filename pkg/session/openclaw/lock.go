package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/process"
)

const (
	// lockAge is the age from which the runtime itself takes a lock for forgotten.
	lockAge = 30 * time.Minute
	maxLock = 4 << 10 // bytes of a lock file that are read
)

// lockFile is what a lock says: {"pid", "createdAt", "starttime"}.
type lockFile struct {
	pid     int
	created time.Time
	start   uint64 // field 22 of /proc/<pid>/stat, 0 if it is not recorded
}

// lockedBy says who holds the lock with this name, "" if nobody does. Nothing is
// removed here.
func (d *directory) lockedBy(name string, now time.Time) (string, error) {
	lock, err := d.lock(name, now)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look at lock: %w", err)
	case lock.Stale:
		return "", nil
	case lock.Process == 0:
		return session.ReasonLockWritten.Text(name), nil
	}
	return session.ReasonLockHeld.Text(lock.Process, name), nil
}

// lock judges the lock with this name. It is stale if it is so old that the runtime
// would take it away, or of a process that cannot have it any more.
//
// A lock without a lock file's content is somebody's who is just writing it, as
// long as it is young.
func (d *directory) lock(name string, now time.Time) (session.RuntimeLock, error) {
	info, err := d.Root.Lstat(name)
	if err != nil {
		return session.RuntimeLock{}, err
	}
	read, err := d.readLock(name)
	if errors.Is(err, fs.ErrNotExist) {
		return session.RuntimeLock{}, err
	}
	lock := session.RuntimeLock{Path: d.At(name), Process: read.pid, Since: read.created}
	if lock.Since.IsZero() || lock.Since.After(now) || lock.Process == 0 {
		lock.Since = info.ModTime()
	}
	lock.Alive = lock.Process != 0 && read.alive(lock.Since)
	lock.Stale = now.Sub(lock.Since) >= lockAge || lock.Process != 0 && !lock.Alive
	return lock, nil
}

// alive reports whether the process that took the lock still runs, and is not
// another one that got its number. A lock that does not say when its process was
// started goes by the number alone, as the runtime does.
func (l lockFile) alive(since time.Time) bool {
	standing := process.Claim{PID: l.pid, Start: l.start, Since: since}.Standing()
	return standing == process.Holds || standing == process.Unseen && l.start == 0 && process.Look(l.pid).Alive
}

func (d *directory) readLock(name string) (lockFile, error) {
	f, err := durable.OpenRegularIn(d.Root, name)
	if errors.Is(err, durable.ErrHeld) || errors.Is(err, durable.ErrNotRegular) {
		return lockFile{}, nil
	}
	if err != nil {
		return lockFile{}, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxLock))
	if err != nil {
		return lockFile{}, err
	}
	return parseLock(raw), nil
}

// parseLock takes from a lock what is readable; without a process id nothing.
func parseLock(raw []byte) lockFile {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return lockFile{}
	}
	pid := count(fields["pid"])
	if pid == 0 || pid != int64(int32(pid)) {
		return lockFile{}
	}
	l := lockFile{pid: int(pid)}
	l.start, _ = strconv.ParseUint(string(fields["starttime"]), 10, 64)
	if at := text(fields["createdAt"]); at != "" {
		l.created, _ = time.Parse(time.RFC3339, at)
	} else if ms := count(fields["createdAt"]); ms > 0 {
		l.created = time.UnixMilli(ms)
	}
	return l
}

// Locks returns the lock files in the store's sessions directories, by path.
// Directories that cannot be read have none.
func (s *Store) Locks(ctx context.Context, now time.Time) ([]session.RuntimeLock, error) {
	root, err := s.pin.OpenRoot(s.root)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	agents, err := s.lister(root, now).agents()
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
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return nil, nil
	}
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
			return nil, fmt.Errorf("read lock %s: %w", d.At(name), err)
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

// Busy implements [session.Rotator]. A session is busy when a live process
// holds the lock of its log or of the index, when the log changed within quiet,
// when it is empty, shorter than it was when it was listed, or gone, and when
// a turn is going on by what the log shows. No lock does not mean
// idle: the runtime gives it back while the model answers. So a session that
// nobody seems to write is busy all the same, with Served set, while a gateway
// runs for the store. A session in a database is [session.ErrUnsupported].
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	ref := q.Ref
	if inDatabase(ref) {
		return logfile.Unsupported(ref.Path, session.ReasonGatewayDatabase.Text())
	}
	d, name, err := s.directoryOf(ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return logfile.Gone(ref.Path)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.locked(ctx, name, q.Now); err != nil {
		return err
	}
	if err := d.Busy(ctx, name, logfile.Question{BusyQuestion: q, Tail: s.Tail}); err != nil {
		return err
	}
	return s.unserved(ref.Path)
}

// locked returns a [*session.BusyError] if the lock of a log or of the index
// is held. That of the index is held for a moment at a time, for any session,
// so it is waited for.
func (d *directory) locked(ctx context.Context, name string, now time.Time) error {
	if err := d.logLocked(name, now); err != nil {
		return err
	}
	for try := 0; ; try++ {
		err := d.notHeld(name, indexLockName, now)
		if !errors.Is(err, session.ErrBusy) || try == indexLockTries {
			return err
		}
		if err := d.pause(ctx, indexLockWait); err != nil {
			return err
		}
	}
}

// logLocked returns a [*session.BusyError] if the lock of a log is held.
func (d *directory) logLocked(name string, now time.Time) error {
	return d.notHeld(name, name+lockEnd, now)
}

func (d *directory) notHeld(name, lock string, now time.Time) error {
	holder, err := d.lockedBy(lock, now)
	if err == nil && holder != "" {
		err = &session.BusyError{Path: d.At(name), Reason: holder}
	}
	return err
}
