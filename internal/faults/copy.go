//go:build linux && amd64

package faults

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// copyTree copies a file, a directory, or what is in it into one that is there, with modes,
// owners and times, and with its links: a second name of a file becomes a second
// name of its copy. A home has files, directories and symbolic links; what is of
// another kind is an error.
func copyTree(from, to string) error {
	c := treeCopy{names: map[file]string{}}
	info, err := os.Lstat(from)
	if err == nil {
		err = c.entry(from, to, fs.FileInfoToDirEntry(info))
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	for _, done := range slices.Backward(c.made) { // what is in a directory changes its times
		if err := done(); err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
	}
	return nil
}

// file is what two names of one file have in common.
type file struct{ device, inode uint64 }

type treeCopy struct {
	names map[file]string // of the copies of files with several names
	made  []func() error  // sets the mode and the times of a directory
}

func (c *treeCopy) directory(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	c.made = append(c.made, func() error { return attributes(to, info) })
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.entry(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

func (c *treeCopy) entry(from, to string, e fs.DirEntry) error {
	if e.IsDir() {
		return c.directory(from, to)
	}
	info, err := e.Info()
	if err != nil {
		return err
	}
	switch status := info.Sys().(*syscall.Stat_t); {
	case e.Type() == fs.ModeSymlink:
		return copyLink(from, to, info)
	case !e.Type().IsRegular():
		return fmt.Errorf("%s is %v", from, e.Type())
	case status.Nlink > 1:
		id := file{status.Dev, status.Ino}
		if first := c.names[id]; first != "" {
			return os.Link(first, to)
		}
		c.names[id] = to
	}
	return copyFile(from, to, info)
}

func copyLink(from, to string, info fs.FileInfo) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	if err := os.Symlink(target, to); err != nil {
		return err
	}
	return attributes(to, info)
}

func copyFile(from, to string, info fs.FileInfo) error {
	err := quietly(func() error {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	})
	if err != nil {
		return err
	}
	return attributes(to, info)
}

// attributes gives a copy the owner, the mode and the times of what was copied.
func attributes(to string, info fs.FileInfo) error {
	status := info.Sys().(*syscall.Stat_t)
	if int(status.Uid) != os.Geteuid() || int(status.Gid) != os.Getegid() {
		if err := os.Lchown(to, int(status.Uid), int(status.Gid)); err != nil {
			return err
		}
	}
	if info.Mode().Type() != fs.ModeSymlink { // one has no mode of its own
		if err := unix.Chmod(to, status.Mode&0o7777); err != nil {
			return err
		}
	}
	times := []unix.Timespec{unix.Timespec(status.Atim), unix.Timespec(status.Mtim)}
	return unix.UtimesNanoAt(unix.AT_FDCWD, to, times, unix.AT_SYMLINK_NOFOLLOW)
}
