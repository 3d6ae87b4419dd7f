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

// Scratch is a directory for copies that are read once and then removed: in
// the system's temporary directory, for this user only (0700), with a name
// that nobody can guess. Nothing in it is synced, since nothing in it is kept.
type Scratch struct{ dir string }

// scratchMark begins the name of every scratch directory.
const scratchMark = "sessctl-scratch-"

// MakeScratch makes one, after it has removed those that killed runs left
// behind. [SpaceError] is returned when fewer than room bytes are free there.
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
