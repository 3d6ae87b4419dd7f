package openclaw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/process"
)

const (
	indexLockName = indexName + lockEnd
	// A lock of the index is held for a moment, so it is waited for: for two
	// seconds in all.
	indexLockTries = 80
	indexLockWait  = 25 * time.Millisecond
	// indexLockHeld is how long the lock may be held, as a runtime that reads
	// this field is told. The runtime takes a lock of the index for forgotten
	// after 30 seconds.
	indexLockHeld = 30 * time.Second
	// staleLockName is where a forgotten lock is looked at once more.
	staleLockName = "." + indexLockName + ".stale"
)

// indexLock is the runtime's lock of the index, held by this process. A run
// that is killed leaves it: its process is gone then, by which the runtime and
// the next run know that it does not count.
type indexLock struct {
	dir  *directory
	text []byte // what is in it
}

// lockIndex takes the lock of the index as the runtime does: the file is made
// in one step with its content, and only where there is none. One that somebody
// else holds is waited for; after two seconds it is a [*session.BusyError]. One
// that does not count any more is taken away, as the runtime itself does.
func (d *directory) lockIndex(ctx context.Context) (*indexLock, error) {
	for try := 0; ; try++ {
		lock, err := d.tryLockIndex()
		if !errors.Is(err, session.ErrBusy) || try == indexLockTries {
			return lock, err
		}
		if err := d.pause(ctx, indexLockWait); err != nil {
			return nil, err
		}
	}
}

func (d *directory) tryLockIndex() (*indexLock, error) {
	now := time.Now()
	forgotten, err := d.forgottenLock(now)
	if err == nil && forgotten {
		err = d.dropStaleLock(now)
	}
	if err != nil {
		return nil, err
	}
	text, err := lockText(now)
	if err != nil {
		return nil, err
	}
	err = durable.CreateCheckedIn(d.Root, indexLockName, nil, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}, nil)
	switch {
	case errors.Is(err, durable.ErrExists):
		return nil, &session.BusyError{Path: d.At(indexName), Reason: session.ReasonIndexLockTaken.Text(indexLockName)}
	case err != nil:
		return nil, fmt.Errorf("lock sessions.json: %w", err)
	}
	lock := &indexLock{dir: d, text: text}
	if left, err := d.Stat(staleLockName); err == nil && left != nil { // a run ended before it could remove it
		if err := durable.RemoveFileIn(d.Root, staleLockName); err != nil {
			return nil, errors.Join(fmt.Errorf("drop a forgotten lock: %w", err), lock.release())
		}
	}
	return lock, nil
}

// forgottenLock reports whether there is a lock of the index that does not count
// any more. It is a [*session.BusyError] if there is one that does. Without a
// lock nothing is taken away: somebody may take it at any moment.
func (d *directory) forgottenLock(now time.Time) (bool, error) {
	info, err := d.Stat(indexLockName)
	if err != nil || info == nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, &session.BusyError{Path: d.At(indexName), Reason: session.ReasonIndexLockOdd.Text(indexLockName)}
	}
	holder, err := d.lockedBy(indexLockName, now)
	if err != nil {
		return false, err
	}
	if holder != "" {
		return false, &session.BusyError{Path: d.At(indexName), Reason: holder}
	}
	after, err := d.Stat(indexLockName)
	if err != nil || after == nil || !os.SameFile(info, after) || !info.ModTime().Equal(after.ModTime()) {
		return false, err // it has changed hands meanwhile
	}
	return true, nil
}

// lockText is what the runtime writes into a lock.
func lockText(now time.Time) ([]byte, error) {
	lock := struct {
		PID       int    `json:"pid"`
		CreatedAt string `json:"createdAt"`
		MaxHold   int64  `json:"maxHoldMs"`
		Start     uint64 `json:"starttime,omitempty"`
	}{PID: os.Getpid(), CreatedAt: now.UTC().Format("2006-01-02T15:04:05.000Z"), MaxHold: indexLockHeld.Milliseconds()}
	if own := process.Look(lock.PID); own.Known {
		lock.Start = own.Start
	}
	return json.Marshal(lock)
}

// dropStaleLock takes a lock away that does not count any more. It is moved
// aside first and looked at there: in between somebody may have done the same
// and taken the lock, and then it goes back.
func (d *directory) dropStaleLock(now time.Time) error {
	if err := durable.RemoveFileIn(d.Root, staleLockName); err != nil { // of a run that was killed here
		return fmt.Errorf("drop a forgotten lock: %w", err)
	}
	err := durable.MoveFileIn(d.Root, indexLockName, staleLockName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("drop a forgotten lock: %w", err)
	}
	holder, err := d.lockedBy(staleLockName, now)
	if err != nil {
		return err
	}
	if holder != "" {
		err := durable.MoveFileIn(d.Root, staleLockName, indexLockName)
		return errors.Join(err, &session.BusyError{Path: d.At(indexName), Reason: holder})
	}
	if err := durable.RemoveFileIn(d.Root, staleLockName); err != nil {
		return fmt.Errorf("drop a forgotten lock: %w", err)
	}
	return nil
}

// release gives the lock back, if it still is ours: the runtime takes away one
// that was held for too long. A lock that cannot be removed is an error: it
// keeps the runtime waiting until this process has ended, and the change it was
// taken for is begun again by the next run, which takes it away.
func (l *indexLock) release() error {
	f, err := durable.OpenRegularIn(l.dir.Root, indexLockName)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrNotRegular) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("give the lock of sessions.json back: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLock))
	if err == nil && bytes.Equal(text, l.text) {
		err = durable.RemoveFileIn(l.dir.Root, indexLockName)
	}
	if err != nil {
		return fmt.Errorf("give the lock of sessions.json back: %w", err)
	}
	return nil
}
