package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Windows has neither flag; OpenRegular looks at the name before it opens it.
const (
	openNoFollow = 0
	openNonblock = 0
)

// isNoSpace reports a full disk or an exhausted quota.
func isNoSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) ||
		errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

func isLink(error) bool { return false }

// isLeased reports that another process opened the file for itself alone.
func isLeased(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }

// syncDir: Windows has no such call; NTFS journals names in order.
func syncDir(dir string) error {
	_, err := os.Stat(dir)
	return err
}

// keepOwner: access lists come from the directory.
func keepOwner(*os.File, os.FileInfo) {}

func freeSpace(dir string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}

func identify(os.FileInfo) Identity { return Identity{} }

// renameOnly renames and never replaces. Windows has it for paths only.
func renameOnly(from, to name) error {
	oldName, err := windows.UTF16PtrFromString(from.path())
	if err != nil {
		return err
	}
	newName, err := windows.UTF16PtrFromString(to.path())
	if err != nil {
		return err
	}
	if err := windows.MoveFileEx(oldName, newName, windows.MOVEFILE_WRITE_THROUGH); err != nil {
		return &os.LinkError{Op: "rename", Old: from.path(), New: to.path(), Err: err}
	}
	return nil
}

func exchange(name, name) error { return ErrUnsupported }

// linkName: Windows has it for paths only.
func linkName(n, second name) error { return os.Link(n.path(), second.path()) }

// syncRoot: as syncDir.
func syncRoot(root *os.Root) error {
	_, err := root.Stat(".")
	return err
}

func (l *Looker) look(name string) (FileState, error) {
	info, err := l.root.Lstat(name)
	if err != nil {
		return FileState{}, err
	}
	return FileStateOf(info), nil
}

// Owner returns the user id that a file belongs to; Windows has none.
func Owner(os.FileInfo) (uid int, known bool) { return 0, false }

// MayRead is not known before it is tried: Windows has lists, not modes.
func MayRead(string) error { return nil }

// MayWrite is not known before it is tried either.
func MayWrite(string) error { return nil }
