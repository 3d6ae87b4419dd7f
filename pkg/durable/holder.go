package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

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
