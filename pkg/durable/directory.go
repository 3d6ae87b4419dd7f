package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// SyncDir makes the names in dir durable: files made, renamed or removed there
// stay so after a power cut. On file systems that do not know the call, and on
// Windows, it does nothing and returns nil.
func SyncDir(dir string) error {
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, bare(err))
	}
	return nil
}

// SyncDirIn is [SyncDir] for a directory that is held open.
func SyncDirIn(root *os.Root) error { return name{in: root}.sync() }

// SyncFileIn makes the content of a file durable that something else wrote in
// root, which is held open, and its name too. [ErrNotRegular] is returned for
// anything but a regular file.
func SyncFileIn(root *os.Root, base string) error {
	path := filepath.Join(root.Name(), base)
	if fi, err := root.Lstat(base); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("sync %s: %w", path, ErrNotRegular)
	}
	// Windows syncs only what is open for writing.
	file, err := root.OpenFile(base, os.O_RDWR|openNoFollow|openNonblock, 0)
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, bare(err))
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return SyncDirIn(root)
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

// RemoveEmptyDir removes a directory that has nothing in it; any other one stays,
// and is an error.
func RemoveEmptyDir(path string) error {
	if fi, err := os.Lstat(path); err == nil && !fi.IsDir() {
		return fmt.Errorf("remove directory %s: it is none", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove directory %s: %w", path, bare(err))
	}
	return SyncDir(filepath.Dir(path))
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

// moveDir renames a directory within one file system and syncs the directories
// that hold its names. It never replaces: [ErrExists] is returned when anything
// is at to. It looks first and renames then, so the caller holds a lock under
// which nobody else makes that name. If from ends in a slash, it is renamed only if it
// is a directory.
func moveDir(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("move %s to %s: %w", from, to, ErrExists)
	}
	if err := os.Rename(from, to); err != nil {
		return explain("move "+from+" to", to, filepath.Dir(to), err)
	}
	before := filepath.Dir(filepath.Clean(from))
	if err := SyncDir(filepath.Dir(to)); err != nil || filepath.Dir(to) == before {
		return err
	}
	return SyncDir(before)
}

// Scratch is a directory for copies that are read once and then removed: in
// the system's temporary directory, private (0700), with a name
// that nobody can guess. Nothing in it is synced, since nothing in it is kept.
type Scratch struct{ dir string }

// scratchMark begins the name of every scratch directory.
const scratchMark = "sessctl-scratch-"

// MakeScratch makes a scratch directory, after it has removed those that killed
// runs left behind. A [SpaceError] is returned when fewer than room bytes are
// free there.
func MakeScratch(room int64) (*Scratch, error) {
	base := os.TempDir()
	sweepScratch(base)
	free, err := FreeSpace(base)
	if err == nil && free < uint64(max(room, 0)) {
		return nil, &SpaceError{Dir: base, Free: free, Err: fmt.Errorf("%d bytes are needed there for a copy", room)}
	}
	dir, err := os.MkdirTemp(base, scratchMark)
	if err != nil {
		return nil, explain("make scratch directory", base, base, err)
	}
	return &Scratch{dir: dir}, nil
}

// Path is the absolute path of a name in the directory.
func (s *Scratch) Path(name string) string { return filepath.Join(s.dir, name) }

// Fill makes a new file of src, mode 0600, and returns its size in bytes.
func (s *Scratch) Fill(name string, src io.Reader) (int64, error) {
	path := s.Path(name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return 0, explain("make", path, s.dir, err)
	}
	n, err := io.Copy(f, src)
	if err := errors.Join(err, f.Close()); err != nil {
		return n, explain("copy to", path, s.dir, err)
	}
	return n, nil
}

// Remove removes the directory with all that is in it. It may be repeated.
func (s *Scratch) Remove() error { return os.RemoveAll(s.dir) }

// sweepScratch removes directories of this user's killed runs. A run that is
// under way fills its directory within [SweepAge], and from then on either has
// none (Unix, where an open file needs no name) or holds its files open
// (Windows, where such a file cannot be removed).
func sweepScratch(base string) {
	ours := regexp.MustCompile(`^` + scratchMark + `\d+$`)
	entries, err := os.ReadDir(base)
	if err != nil {
		return // making the new one says what is wrong
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !ours.MatchString(entry.Name()) || !ownScratch(info) {
			continue
		}
		_ = os.RemoveAll(filepath.Join(base, entry.Name())) // the next run tries again
	}
}

func ownScratch(info fs.FileInfo) bool {
	if !info.IsDir() || time.Since(info.ModTime()) < SweepAge {
		return false
	}
	uid, known := Owner(info)
	return !known || uid == os.Geteuid()
}
