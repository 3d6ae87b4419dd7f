package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrExists is returned when [CreateFile] or [MoveFile] finds something at the
// path it should make. It is fs.ErrExist.
var ErrExists = fs.ErrExist

// ErrUnsupported is returned when the system or the file system has no such
// mechanism, or does not grant it to this user. It is errors.ErrUnsupported.
var ErrUnsupported = errors.ErrUnsupported

// ErrNotRegular is returned when a path is a symbolic link, a directory, a
// pipe, a socket or a device where a regular file is wanted.
var ErrNotRegular = errors.New("not a regular file")

// ErrManyNames is returned when a file has several names (hard links) and one
// is wanted that has only this.
var ErrManyNames = errors.New("a file with several names (hard links)")

// ErrElsewhere is returned when a path leads to another directory than the one
// that is held open.
var ErrElsewhere = errors.New("another directory has taken its place")

// ErrHeld is returned when another process has the file open: by [WriteLease],
// and by [OpenRegular] when that process holds a lease on it.
var ErrHeld = errors.New("open in another process")

// ErrLocked is returned by [Lock] when another process, or another part of
// this one, holds the lock.
var ErrLocked = errors.New("locked by another sessctl")

// SpaceError is a write that found no room: a full disk, an exhausted quota,
// or no inode left. It unwraps to the system's error.
type SpaceError struct {
	// Path is the file that was to be written.
	Path string
	// Dir is the directory whose file system is full.
	Dir string
	// Free is what the file system has left for this user, in bytes. It may
	// be large when inodes or a quota ran out.
	Free uint64
	// Err is the system's error.
	Err error
}

// Error implements error. It names the place that is full, and not the file: who calls
// knows that.
func (e *SpaceError) Error() string {
	return fmt.Sprintf("%v (%d bytes free in %s)", e.Err, e.Free, filepath.Clean(e.Dir))
}

// Unwrap returns the system's error.
func (e *SpaceError) Unwrap() error { return e.Err }

// explain turns a full disk into a [SpaceError] for path and gives every other
// error the name of what was being done.
func explain(op, path, dir string, err error) error {
	var space *SpaceError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &space):
		return err
	case isNoSpace(err):
		free, _ := FreeSpace(dir) // 0 when even that cannot be asked
		return &SpaceError{Path: path, Dir: dir, Free: free, Err: bare(err)}
	}
	return fmt.Errorf("%s %s: %w", op, path, bare(err))
}

// bare drops the operation and the (temporary) names that os puts before an
// error, so that a message names the file the user knows.
func bare(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
