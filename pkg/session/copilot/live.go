package copilot

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/process"
)

// lockName is the name of the lock that the program puts into the directory of a
// session that it has open. It says the number of the process; beside it lies a
// file that the process holds locked (flock) until it ends.
var lockName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^inuse\.([1-9][0-9]{0,9})\.lock$`) })

const holdEnd = ".hold"

// locksIn returns the locks in the directory of a session.
func locksIn(d *logfile.Dir, now time.Time) (all []session.RuntimeLock, err error) {
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		m := lockName().FindStringSubmatch(name)
		if m == nil {
			continue
		}
		info, err := d.Stat(name)
		if err != nil || info == nil {
			continue // given back since
		}
		pid, _ := strconv.Atoi(m[1])
		lock := session.RuntimeLock{Path: d.At(name), Process: pid, Since: info.ModTime()}
		judge(&lock)
		if lock.Unseen {
			lock.Stale = forgotten(d, lock, now)
		}
		all = append(all, lock)
	}
	return all, nil
}

// judge says whether the process of a lock runs. The lock of the file beside it
// tells that for every process of this machine's kernel, one in another container
// too. Without that file, or where it cannot be asked, a process that is not to
// be seen here may run elsewhere.
func judge(lock *session.RuntimeLock) {
	hold, err := durable.LookAtLock(strings.TrimSuffix(lock.Path, ".lock") + holdEnd)
	standing := process.Claim{PID: lock.Process, Since: lock.Since}.Standing()
	switch {
	case standing == process.Holds, err == nil && hold.Held:
		lock.Alive = true
	case standing == process.Over, err == nil && hold.Exists:
		lock.Stale = true
	default:
		lock.Unseen = true
	}
}

// forgotten reports whether the lock of a process that is not seen here is older than
// a turn can be, and its log as well.
func forgotten(d *logfile.Dir, lock session.RuntimeLock, now time.Time) bool {
	q := session.BusyQuestion{Now: now}
	log, err := d.Stat(logName)
	if err != nil {
		return false
	}
	return q.GaveUp(lock.Since, session.Tail{}) && (log == nil || q.GaveUp(log.ModTime(), session.Tail{}))
}

// heldBy says, for people, who has the session of a directory open; false if
// nobody has.
func heldBy(d *logfile.Dir, now time.Time) (reason string, busy bool) {
	locks, err := locksIn(d, now)
	if err != nil {
		return session.ReasonCopilotUnknown.Text(err), true
	}
	for _, lock := range locks {
		switch {
		case lock.Stale:
		case lock.Unseen:
			return session.ReasonCopilotPerhaps.Text(lock.Path, lock.Process), true
		default:
			return session.ReasonCopilotHere.Text(lock.Process), true
		}
	}
	return "", false
}

// Busy implements [session.Liveness]. A session is busy while a lock of a process
// that runs is there, or of one of which that cannot be told; else shortly after
// a change, and while a turn is going on. A stale lock means that the program was
// killed: its last turn waits for nobody.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	stale, err := s.held(q.Ref.Path, q.Now)
	if err != nil {
		return err
	}
	question := logfile.Question{BusyQuestion: q, Tail: s.Tail}
	if stale {
		question.Tail = nil
	}
	return s.Ask(ctx, question)
}

// held returns a [*session.BusyError] if somebody has the session of a log open,
// and whether a stale lock lies beside the log.
func (s *Store) held(log string, now time.Time) (stale bool, err error) {
	if filepath.Base(log) != logName {
		return false, nil // sessions that lie flat have no lock
	}
	d, _, err := s.Directory(log)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer d.Close()
	if reason, busy := heldBy(d, now); busy {
		return false, &session.BusyError{Path: log, Reason: reason}
	}
	locks, err := locksIn(d, now)
	return len(locks) > 0, err
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	if _, err := s.held(path, now); err != nil {
		return err
	}
	return s.Logs.Unused(ctx, path, now, quiet)
}

// Locks implements [session.LockLister].
func (s *Store) Locks(ctx context.Context, now time.Time) ([]session.RuntimeLock, error) {
	var all []session.RuntimeLock
	l := s.NewLister()
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		if !base.HasDirectory(name) || !session.SafeID(name) {
			return
		}
		d := l.Below(base, name)
		if d == nil {
			return
		}
		defer d.Close()
		locks, err := locksIn(d, now)
		if err != nil {
			return // the listing says so
		}
		all = append(all, locks...)
	})
	return all, err
}
