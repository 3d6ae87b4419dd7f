package durable

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// renameOnly renames and never replaces. [ErrUnsupported] is returned where
// the file system cannot.
func renameOnly(from, to string) error {
	err := renameat2(from, to, unix.RENAME_NOREPLACE)
	if isFlagUnknown(err) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

func exchange(a, b string) error {
	err := renameat2(a, b, unix.RENAME_EXCHANGE)
	if isFlagUnknown(err) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// isFlagUnknown: NFS, older FUSE and ZFS say EINVAL, old kernels ENOSYS.
func isFlagUnknown(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP)
}

func renameat2(from, to string, flags uint) error {
	for {
		err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		}
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
}
