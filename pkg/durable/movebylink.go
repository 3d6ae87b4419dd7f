package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

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
