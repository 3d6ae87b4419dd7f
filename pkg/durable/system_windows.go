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

// renameOnly renames and never replaces.
func renameOnly(from, to string) error {
	oldName, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	newName, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	if err := windows.MoveFileEx(oldName, newName, windows.MOVEFILE_WRITE_THROUGH); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

func exchange(string, string) error { return ErrUnsupported }

// Owner returns the user id that a file belongs to; Windows has none.
func Owner(os.FileInfo) (uid int, known bool) { return 0, false }
