package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SyncDir makes the names in dir durable: files made, renamed or removed there
// stay so after a power cut. File systems that do not know the call, and
// Windows, are taken as done.
func SyncDir(dir string) error {
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, bare(err))
	}
	return nil
}

// SyncFile makes the content of a file durable that something else wrote, and
// its name too. [ErrNotRegular] is returned for anything but a regular file.
func SyncFile(path string) error {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("sync %s: %w", path, ErrNotRegular)
	}
	// Windows syncs only what is open for writing.
	file, err := os.OpenFile(path, os.O_RDWR|openNoFollow|openNonblock, 0)
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, bare(err))
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// MakeDir makes a directory and the parents it needs, all with mode perm
// whatever the umask, and syncs each directory that got a new entry. A
// directory that is there keeps its mode.
func MakeDir(path string, perm os.FileMode) error {
	path = filepath.Clean(path)
	fi, err := os.Stat(path)
	switch {
	case err == nil && fi.IsDir():
		return resyncParent(path)
	case err == nil:
		return fmt.Errorf("make directory %s: a file is in the way", path)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("make directory %s: %w", path, bare(err))
	}
	parent := filepath.Dir(path)
	if parent == path {
		return fmt.Errorf("make directory %s: %w", path, fs.ErrNotExist)
	}
	if err := MakeDir(parent, perm); err != nil {
		return err
	}
	return makeOne(path, parent, perm)
}

func makeOne(path, parent string, perm os.FileMode) error {
	err := os.Mkdir(path, perm)
	if fi, statErr := os.Stat(path); errors.Is(err, fs.ErrExist) && statErr == nil && fi.IsDir() {
		return resyncParent(path) // another process was faster
	}
	if err == nil {
		err = os.Chmod(path, perm) // the umask may have taken bits away
	}
	if err != nil {
		return explain("make directory", path, parent, err)
	}
	return SyncDir(parent)
}

// resyncParent makes a directory durable that an earlier, killed run may have
// made without coming to the sync. A parent that we may not read is not ours
// to sync, and then we did not make the directory either.
func resyncParent(path string) error {
	err := SyncDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// Writable reports whether files can be made in dir, by making one and
// removing it. The error says why not; a full disk is a [*SpaceError].
func Writable(dir string) error {
	temp, err := createTemp(dir, "writable")
	if err != nil {
		return explain("write in", dir, dir, err)
	}
	temp.file.Close()
	return RemoveFile(temp.path)
}

// CheckWritable is [Writable] without changing anything: it asks the system
// for the permission. For a directory that does not exist yet the nearest
// existing parent is asked. It cannot foresee a full disk or a quota.
func CheckWritable(dir string) error {
	existing, err := existingDir(dir)
	if err != nil {
		return fmt.Errorf("write in %s: %w", dir, bare(err))
	}
	if err := access(existing); err != nil {
		return fmt.Errorf("write in %s: %w", existing, bare(err))
	}
	return nil
}

// FreeSpace returns the bytes that this user may still write on the file
// system of dir, or of its nearest existing parent.
func FreeSpace(dir string) (uint64, error) {
	existing, err := existingDir(dir)
	if err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, bare(err))
	}
	free, err := freeSpace(existing)
	if err != nil {
		return 0, fmt.Errorf("free space of %s: %w", existing, bare(err))
	}
	return free, nil
}

// existingDir is dir or the nearest parent of it that exists.
func existingDir(dir string) (string, error) {
	dir = filepath.Clean(dir)
	for {
		fi, err := os.Stat(dir)
		switch {
		case err == nil && fi.IsDir():
			return dir, nil
		case err == nil:
			return "", fmt.Errorf("%s is not a directory", dir)
		case !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir:
			return "", err
		}
		dir = filepath.Dir(dir)
	}
}
