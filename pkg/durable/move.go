package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// LinkFile gives a file a second name and makes it durable. [ErrExists] is
// returned when anything has that name, another error where the file system
// knows no second names.
func LinkFile(path, second string) error {
	if err := os.Link(path, second); err != nil {
		return explain("link "+path+" as", second, filepath.Dir(second), err)
	}
	return SyncDir(filepath.Dir(second))
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

// movedSuffix ends the name under which a file is looked at whose old name is
// being taken away. What has it is never removed unseen: it may be a file that
// somebody has just put at the old name.
const movedSuffix = ".moved"

// renameOrLink is a rename that never replaces, of a file that others may rename
// to as well.
func renameOrLink(from, to string) error {
	err := renameOnly(from, to)
	if errors.Is(err, ErrUnsupported) {
		return renameByLink(from, to)
	}
	return err
}

// renameNew is a rename that never replaces, of a file whose name only this
// program knows.
func renameNew(from, to string) error {
	err := renameOnly(from, to)
	if !errors.Is(err, ErrUnsupported) {
		return err
	}
	if err := os.Link(from, to); err != nil {
		return err
	}
	return syscall.Unlink(from)
}

// renameByLink is a rename that never replaces, for file systems that cannot
// do it in one step: the file has both names for a moment, never none.
func renameByLink(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return dropName(from, to)
}

// dropName takes the name from away from a file that has the name to as well.
// Unlinking would do it, but for a program that renames another file to from
// just before: that one would be gone. So whatever is there gets a third name
// first, and its old one again if it is another file.
func dropName(from, to string) error {
	aside := filepath.Join(filepath.Dir(from), movedName(filepath.Base(from)))
	if err := os.Rename(from, aside); err != nil {
		return err
	}
	if SameFile(aside, to) {
		return syscall.Unlink(aside)
	}
	if err := giveBack(aside, from); err != nil {
		return err
	}
	return fmt.Errorf("another file has taken the place of %s: %w", from, ErrExists)
}

func movedName(label string) string {
	name := tempName(label)
	return name[:len(name)-len(tempSuffix)] + movedSuffix
}

// giveBack gives a file its name again. It keeps the one it has as well if the
// name is taken.
func giveBack(aside, name string) error {
	err := os.Link(aside, name)
	if errors.Is(err, ErrExists) {
		return nil
	}
	if err != nil {
		return err
	}
	return syscall.Unlink(aside)
}

// EndMoves ends the moves of files in dir, by [MoveFile], that were killed where
// the file system can only link and unlink: a hidden name goes where the file
// has another, and the file gets its name back where it has none. One whose
// name is taken stays as it is. A directory that is not there has none.
// [Sweep] does it too.
func EndMoves(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return explain("sweep", dir, dir, err)
	}
	pattern := regexp.MustCompile(`^\.(.+)\.sessctl-[0-9a-f]{16}\` + movedSuffix + `$`)
	for _, entry := range entries {
		name := pattern.FindStringSubmatch(entry.Name())
		if name == nil || !entry.Type().IsRegular() {
			continue
		}
		if err := endMove(filepath.Join(dir, entry.Name()), filepath.Join(dir, name[1])); err != nil {
			return explain("sweep", dir, dir, err)
		}
	}
	return nil
}

func endMove(aside, name string) error {
	info, err := os.Lstat(aside)
	if err != nil {
		return err
	}
	if Identify(info).Links > 1 {
		err = syscall.Unlink(aside)
	} else {
		err = giveBack(aside, name)
	}
	return errors.Join(err, SyncDir(filepath.Dir(aside)))
}
