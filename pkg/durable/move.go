package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// MoveFileIn is [Pins.MoveFile] for two names below root, which is held open: it moves
// what is there, wherever the path of root leads by now.
func MoveFileIn(root *os.Root, from, to string) error { return moveIn(renameOrLink, root, from, to) }

func moveIn(rename func(from, to name) error, root *os.Root, from, to string) error {
	names, err := pairOf(func(below string) (name, error) { return nameIn(root, below) }, from, to)
	if err != nil {
		return explain("move "+from+" to", to, root.Name(), err)
	}
	defer names.close()
	return moveName(rename, names.first, names.second)
}

// pair are two names. In one directory they share it: a run may have few
// descriptors left.
type pair struct{ first, second name }

func pairOf(find func(string) (name, error), a, b string) (pair, error) {
	first, err := find(a)
	if err != nil {
		return pair{}, err
	}
	if filepath.Dir(a) == filepath.Dir(b) {
		return pair{first, first.beside(filepath.Base(b))}, nil
	}
	second, err := find(b)
	if err != nil {
		first.close()
	}
	return pair{first, second}, err
}

func (p pair) close() {
	p.first.close()
	if p.second.in != p.first.in {
		p.second.close()
	}
}

func moveName(rename func(from, to name) error, from, to name) error {
	err := rename(from, to)
	if errors.Is(err, ErrExists) && sameName(from, to) {
		err = dropName(from, to) // both names are this file: an earlier move got half way
	}
	if err != nil {
		return explain("move "+from.path()+" to", to.path(), to.in.Name(), err)
	}
	return syncBoth(to, from)
}

// name is a name in a directory that is held open, so that it means the same
// until it is closed.
type name struct {
	in   *os.Root
	base string
}

// nameAt opens the directory of a path.
func nameAt(path string) (name, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	return name{root, filepath.Base(path)}, err
}

// nameIn opens the directory of a name below root, which it cannot leave.
func nameIn(root *os.Root, below string) (name, error) {
	in, err := root.OpenRoot(filepath.Dir(below))
	return name{in, filepath.Base(below)}, err
}

func (n name) close() { _ = n.in.Close() }

// path is where the name was when its directory was opened, for messages.
func (n name) path() string { return filepath.Join(n.in.Name(), n.base) }

// beside is another name in the directory.
func (n name) beside(base string) name { return name{n.in, base} }

func (n name) unlink() error { return n.in.Remove(n.base) }

// onto renames one name to another, replacing what has that. Both are in one
// directory.
func (n name) onto(other name) error { return n.in.Rename(n.base, other.base) }

// link gives a file a second name, in whichever directory.
func (n name) link(second name) error { return linkName(n, second) }

// sync makes the names of the directory durable.
func (n name) sync() error {
	if err := syncRoot(n.in); err != nil {
		return fmt.Errorf("sync directory %s: %w", n.in.Name(), bare(err))
	}
	return nil
}

// sameName reports whether two names are of one file. A symbolic link is a file of
// its own; what cannot be looked at is no name of any.
func sameName(a, b name) bool {
	fa, errA := a.in.Lstat(a.base)
	fb, errB := b.in.Lstat(b.base)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}

// exchangeFilesIn swaps the names of two files below root, which is held open, in
// one step: at no time is either name missing.
func exchangeFilesIn(root *os.Root, a, b string) error {
	names, err := pairOf(func(below string) (name, error) { return nameIn(root, below) }, a, b)
	if err != nil {
		return explain("exchange "+a+" with", b, root.Name(), err)
	}
	defer names.close()
	first, second := names.first, names.second
	if err := exchange(first, second); err != nil {
		return explain("exchange "+first.path()+" with", second.path(), second.in.Name(), err)
	}
	return syncBoth(first, second)
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

// RemoveFileIn is [RemoveFile] for a name below root, which is held open.
func RemoveFileIn(root *os.Root, below string) error {
	n, err := nameIn(root, below)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", below, err)
	}
	defer n.close()
	fi, err := n.in.Lstat(n.base)
	if err == nil && fi.IsDir() {
		return fmt.Errorf("remove %s: %w", n.path(), ErrNotRegular)
	}
	if err == nil {
		err = n.unlink()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", n.path(), bare(err))
	}
	return n.sync()
}

func syncBoth(first, second name) error {
	if err := first.sync(); err != nil || first.in == second.in {
		return err
	}
	a, errA := first.in.Stat(".")
	b, errB := second.in.Stat(".")
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return nil
	}
	return second.sync()
}

// movedSuffix ends the name under which a file is looked at whose old name is
// being taken away. What has it is never removed unseen: it may be a file that
// somebody has just put at the old name.
const movedSuffix = ".moved"

// renameOrLink is a rename that never replaces, of a file that others may rename
// to as well.
func renameOrLink(from, to name) error {
	err := renameOnly(from, to)
	if errors.Is(err, ErrUnsupported) {
		return renameByLink(from, to)
	}
	return err
}

// renameNew is a rename that never replaces, of a file whose name only this
// program knows.
func renameNew(from, to name) error {
	err := renameOnly(from, to)
	if !errors.Is(err, ErrUnsupported) {
		return err
	}
	if err := from.link(to); err != nil {
		return err
	}
	return from.unlink()
}

// renameByLink is a rename that never replaces, for file systems that cannot
// do it in one step: the file has both names for a moment, never none.
func renameByLink(from, to name) error {
	if err := from.link(to); err != nil {
		return err
	}
	return dropName(from, to)
}

// dropName takes the name from away from a file that has the name to as well.
// Unlinking would do it, but for a program that renames another file to from
// just before: that one would be gone. So whatever is there gets a third name
// first, and its old one again if it is another file.
func dropName(from, to name) error {
	aside := from.beside(movedName(from.base))
	if err := from.onto(aside); err != nil {
		return err
	}
	if sameName(aside, to) {
		return aside.unlink()
	}
	if err := giveBack(aside, from); err != nil {
		return err
	}
	return fmt.Errorf("another file has taken the place of %s: %w", from.path(), ErrExists)
}

func movedName(label string) string {
	name := tempName(label)
	return name[:len(name)-len(tempSuffix)] + movedSuffix
}

// giveBack gives a file its name again. It keeps the one it has as well if the
// name is taken.
func giveBack(aside, as name) error {
	err := aside.link(as)
	if errors.Is(err, ErrExists) {
		return nil
	}
	if err != nil {
		return err
	}
	return aside.unlink()
}

// EndMovesIn ends the moves of files in root, which is held open, by [Pins.MoveFile],
// that were killed where the file system can only link and unlink: a hidden name
// goes where the file has another, and the file gets its name back where it has
// none. One whose name is taken stays as it is. [Sweep] does it too. It returns the
// names of what [Leftovers] lists: the directory is read once for both.
func EndMovesIn(root *os.Root, olderThan time.Duration) (leftovers []string, err error) {
	hidden, err := hiddenIn(root)
	if err != nil {
		return nil, explain("sweep", root.Name(), root.Name(), err)
	}
	if err := endMovesOf(root, hidden); err != nil {
		return nil, err
	}
	return leftoversOf(root, hidden, olderThan), nil
}

// endMovesOf ends those of which the files stand among the hidden names in root.
func endMovesOf(root *os.Root, hidden []string) error {
	dir := root.Name()
	pattern := regexp.MustCompile(`^\.(.+)\.sessctl-[0-9a-f]{16}\` + movedSuffix + `$`)
	for _, aside := range hidden {
		found := pattern.FindStringSubmatch(aside)
		if found == nil {
			continue
		}
		if err := endMove(name{root, aside}, found[1]); err != nil {
			return explain("sweep", dir, dir, err)
		}
	}
	return nil
}

// endMove ends the move of a regular file; nothing else is moved.
func endMove(aside name, base string) error {
	info, err := aside.in.Lstat(aside.base)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if Identify(info).Links > 1 {
		err = aside.unlink()
	} else {
		err = giveBack(aside, aside.beside(base))
	}
	return errors.Join(err, aside.sync())
}
