package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MoveFile renames a file within one file system and syncs both directories.
// It never replaces: [ErrExists] is returned when anything is at to. A move
// that was killed between its two steps (where the file system can only link
// and unlink) is completed by calling it again. There, too, [ErrExists] is
// returned when somebody has renamed another file to from between the two: that
// file is at from then, and the one that was moved is at to.
func MoveFile(from, to string) error { return moveBy(renameOrLink, from, to) }

func moveBy(rename func(from, to string) error, from, to string) error {
	err := rename(from, to)
	if errors.Is(err, ErrExists) && SameFile(from, to) {
		err = dropName(from, to) // both names are this file: an earlier move got half way
	}
	if err != nil {
		return explain("move "+from+" to", to, filepath.Dir(to), err)
	}
	return syncBoth(to, from)
}

// ExchangeFiles swaps the names of two files in one step: at no time is either
// path missing. [ErrUnsupported] is returned where the system or the file
// system cannot; nothing has changed then.
func ExchangeFiles(a, b string) error {
	if err := exchange(a, b); err != nil {
		return explain("exchange "+a+" with", b, filepath.Dir(b), err)
	}
	return syncBoth(a, b)
}

// RemoveFile unlinks a file, never a directory, and syncs its directory. A
// file that is gone already is no error. A symbolic link is removed itself.
func RemoveFile(path string) error {
	if fi, err := os.Lstat(path); err == nil && fi.IsDir() {
		return fmt.Errorf("remove %s: %w", path, ErrNotRegular)
	}
	err := syscall.Unlink(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	// Synced also when nothing was there: an earlier call may have been
	// killed between its two steps.
	err = SyncDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func syncBoth(first, second string) error {
	a, b := filepath.Dir(first), filepath.Dir(second)
	if err := SyncDir(a); err != nil {
		return err
	}
	if a == b {
		return nil
	}
	return SyncDir(b)
}

// SameFile reports whether two paths are names of one file. A symbolic link is
// a file of its own; what cannot be looked at is no name of any.
func SameFile(a, b string) bool {
	fa, errA := os.Lstat(a)
	fb, errB := os.Lstat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}
