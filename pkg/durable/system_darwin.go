package durable

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func identify(fi os.FileInfo) Identity {
	stat, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}
	}
	return Identity{
		Device: uint64(stat.Dev), Inode: stat.Ino, Links: uint64(stat.Nlink),
		Changed: time.Unix(stat.Ctimespec.Unix()),
	}
}

// renameOnly renames and never replaces. [ErrUnsupported] is returned where
// the file system cannot.
func renameOnly(from, to name) error {
	err := renamex(from, to, unix.RENAME_EXCL)
	if isFlagUnknown(err) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

func exchange(a, b name) error {
	err := renamex(a, b, unix.RENAME_SWAP)
	if isFlagUnknown(err) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// isFlagUnknown: file systems other than APFS and HFS+ say ENOTSUP or EINVAL.
func isFlagUnknown(err error) bool {
	return errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL)
}

func renamex(from, to name, flags uint32) error {
	return between(from, to, func(a, b int) error {
		if err := unix.RenameatxNp(a, from.base, b, to.base, flags); err != nil {
			return &os.LinkError{Op: "rename", Old: from.path(), New: to.path(), Err: err}
		}
		return nil
	})
}
