//go:build linux || darwin

package durable

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	openNoFollow = unix.O_NOFOLLOW
	openNonblock = unix.O_NONBLOCK
)

// isNoSpace reports a full disk, an exhausted quota, or no inode left.
func isNoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// isLink reports that O_NOFOLLOW met a symbolic link.
func isLink(err error) bool { return errors.Is(err, unix.ELOOP) }

// isLeased reports that O_NONBLOCK met another process's lease.
func isLeased(err error) bool { return errors.Is(err, unix.EAGAIN) }

func syncDir(dir string) error { return syncOpened(os.Open(dir)) }

// syncRoot is syncDir for a directory that is held open.
func syncRoot(root *os.Root) error { return syncOpened(root.Open(".")) }

func syncOpened(file *os.File, err error) error {
	if err != nil {
		return err
	}
	defer file.Close()
	err = file.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil // the file system cannot sync a directory (some network and FUSE ones)
	}
	return err
}

// between calls fn with the descriptors of the directories of two names.
func between(from, to name, fn func(a, b int) error) error {
	a, err := from.in.Open(".")
	if err != nil {
		return err
	}
	defer a.Close()
	if from.in == to.in {
		return fn(int(a.Fd()), int(a.Fd()))
	}
	b, err := to.in.Open(".")
	if err != nil {
		return err
	}
	defer b.Close()
	return fn(int(a.Fd()), int(b.Fd()))
}

// linkName gives a file a second name, in whichever directory.
func linkName(n, second name) error {
	return between(n, second, func(a, b int) error {
		if err := unix.Linkat(a, n.base, b, second.base, 0); err != nil {
			return &os.LinkError{Op: "link", Old: n.path(), New: second.path(), Err: err}
		}
		return nil
	})
}

// keepOwner gives file the owner of like, or at least its group, where the
// user may. A normal user's own files need neither.
func keepOwner(file *os.File, like os.FileInfo) {
	stat, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	uid, gid := int(stat.Uid), int(stat.Gid)
	if file.Chown(uid, gid) != nil {
		_ = file.Chown(-1, gid) // best effort
	}
}

func freeSpace(dir string) (uint64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return stat.Bavail * uint64(stat.Bsize), nil
}

func (l *Looker) look(name string) (FileState, error) {
	var stat unix.Stat_t
	if err := unix.Fstatat(int(l.dir.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return FileState{}, err
	}
	return FileState{
		Device: uint64(stat.Dev), Inode: stat.Ino, Size: stat.Size, //nolint:unconvert // an int32 on macOS
		Modified: stat.Mtim.Nano(), Changed: stat.Ctim.Nano(),
	}, nil
}

// Owner returns the user id that a file belongs to, as os.Lstat, os.Stat or
// File.Stat saw it; false where the system has none (Windows).
func Owner(fi os.FileInfo) (uid int, known bool) {
	stat, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// MayRead returns the error of the system if this user may not read a file or
// directory. Nothing is opened: whoever has a lease on it is not asked.
func MayRead(path string) error { return mayAccess(path, unix.R_OK) }

// MayWrite returns the error of the system if this user may not change a file
// or make files in a directory, also where the file system is read-only.
func MayWrite(path string) error { return mayAccess(path, unix.W_OK) }

func mayAccess(path string, mode uint32) error {
	if err := unix.Access(path, mode); err != nil {
		return &os.PathError{Op: "access", Path: path, Err: err}
	}
	return nil
}
