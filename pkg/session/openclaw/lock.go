package openclaw

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

const (
	// lockAge is the age from which the runtime itself takes a lock for
	// forgotten (research/formats.md section 4.4).
	lockAge = 30 * time.Minute
	maxLock = 4 << 10 // bytes of a lock file that are read
)

// lockFile is what a lock says: {"pid", "createdAt", "starttime"}.
type lockFile struct {
	pid     int
	created time.Time
	start   uint64 // field 22 of /proc/<pid>/stat, 0 if it is not recorded
}

// lockedBy says who holds the lock with this name, "" if nobody does: there is
// no lock, its process is gone, or it is so old that the runtime would take it
// away. A lock is never removed.
//
// A lock without a lock file's content is somebody's who is just writing it,
// as long as it is young.
func (d *directory) lockedBy(name string, now time.Time) (string, error) {
	info, err := d.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at lock: %w", err)
	}
	lock, err := d.readLock(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil || lock.pid == 0 {
		if now.Sub(info.ModTime()) < lockAge {
			return "its lock " + name + " is being written", nil
		}
		return "", nil
	}
	created := lock.created
	if created.IsZero() || created.After(now) {
		created = info.ModTime()
	}
	if now.Sub(created) >= lockAge || !lock.alive() {
		return "", nil
	}
	return fmt.Sprintf("process %d holds its lock %s", lock.pid, name), nil
}

// alive reports whether the process that took the lock still runs, and is not
// another one that got its number.
func (l lockFile) alive() bool {
	start, known, alive := processState(l.pid)
	return alive && (!known || l.start == 0 || l.start == start)
}

func (d *directory) readLock(name string) (lockFile, error) {
	f, err := d.open(name)
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
