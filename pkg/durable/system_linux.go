package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func takeLease(f *os.File) error {
	return onDescriptor(f, func(fd uintptr) error {
		if _, err := unix.FcntlInt(fd, unix.F_SETSIG, int(unix.SIGURG)); err != nil {
			return ErrUnsupported
		}
		_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EAGAIN):
			return ErrHeld
		case errors.Is(err, unix.EBADF):
			return err
		}
		// EINVAL: this file system has none; EACCES: another user's file.
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	})
}

func leaseHeld(f *os.File) bool {
	held := false
	err := onDescriptor(f, func(fd uintptr) error {
		kind, err := unix.FcntlInt(fd, unix.F_GETLEASE, 0)
		held = kind == unix.F_WRLCK
		return err
	})
	return err == nil && held
}

func dropLease(f *os.File) error {
	return onDescriptor(f, func(fd uintptr) error {
		_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
		return err
	})
}

// onDescriptor calls fn with the descriptor of f, which stays open meanwhile.
func onDescriptor(f *os.File, fn func(fd uintptr) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = fn(fd) }); err != nil {
		return err
	}
	return inner
}

// readAt makes the three calls that it takes and no more: of thousands of
// unchanged logs this is all that is done, and an os.File costs as much again.
func readAt(path string, p []byte, from int64) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	n, err := unix.Pread(fd, p, from)
	_ = unix.Close(fd) // it was only read
	if err != nil {
		return 0, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return n, nil
}

// renameOnly renames and never replaces. [ErrUnsupported] is returned where
// the file system cannot.
func renameOnly(from, to name) error {
	err := renameat2(from, to, unix.RENAME_NOREPLACE)
	if isFlagUnknown(err) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

func exchange(a, b name) error {
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

func renameat2(from, to name, flags uint) error {
	return between(from, to, func(a, b int) error {
		for {
			err := unix.Renameat2(a, from.base, b, to.base, flags)
			switch {
			case err == nil:
				return nil
			case errors.Is(err, unix.EINTR):
				continue
			}
			return &os.LinkError{Op: "rename", Old: from.path(), New: to.path(), Err: err}
		}
	})
}

// zfsMagic is what OpenZFS tells; it is not part of Linux.
const zfsMagic = 0x2fc12fc1

func changeTimeTells(path string) bool {
	var stat unix.Statfs_t
	if unix.Statfs(path, &stat) != nil {
		return false
	}
	switch int64(stat.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, zfsMagic:
		return true
	}
	return false
}

func identify(fi os.FileInfo) Identity {
	stat, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}
	}
	return Identity{
		Device: stat.Dev, Inode: stat.Ino, Links: uint64(stat.Nlink),
		Changed: time.Unix(stat.Ctim.Unix()),
	}
}

// pathOf is a path of an open directory that goes by its descriptor; "" without
// /proc.
func pathOf(dir *os.File) (path string) {
	here, err := dir.Stat()
	if err != nil {
		return ""
	}
	_ = onDescriptor(dir, func(fd uintptr) error { // what fails leaves no path
		path = fmt.Sprintf("/proc/self/fd/%d", fd)
		return nil
	})
	if there, err := os.Stat(path); err != nil || !os.SameFile(here, there) {
		return ""
	}
	return path
}
