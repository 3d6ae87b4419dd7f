package durable

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	tempMark   = ".sessctl-"
	tempSuffix = ".tmp"
	// maxLabel keeps a temporary name under the 255 bytes every file system
	// allows, with the mark, 16 random digits and the suffix around it.
	maxLabel = 200
	// SweepAge is the age at which [Sweep] takes a temporary file for
	// abandoned when it is not told another. A file that is being written has
	// a fresh modification time.
	SweepAge = time.Hour
)

// tempFile is a file that has no name of its own yet.
type tempFile struct {
	file *os.File
	path string
	gone bool // renamed or removed: nothing is at path any more
}

// createTemp opens a new hidden file in dir with mode 0600.
func createTemp(dir, label string) (*tempFile, error) {
	path := filepath.Join(dir, tempName(label))
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	return &tempFile{file: file, path: path}, nil
}

// tempName is ".<label>.sessctl-<16 hexadecimal digits>.tmp".
func tempName(label string) string {
	if len(label) > maxLabel {
		label = strings.ToValidUTF8(label[:maxLabel], "")
	}
	var random [8]byte
	rand.Read(random[:]) // never fails, by its documentation
	return "." + label + tempMark + hex.EncodeToString(random[:]) + tempSuffix
}

// seal gives the file its owner and mode, syncs and closes it. The mode comes
// after the owner: giving a file away may clear mode bits.
func (t *tempFile) seal(perm os.FileMode, owner os.FileInfo, step func(string)) error {
	if owner != nil {
		keepOwner(t.file, owner)
	}
	if err := t.file.Chmod(perm); err != nil {
		return err
	}
	step("sync")
	if err := t.file.Sync(); err != nil {
		return err
	}
	return t.file.Close()
}

// discard removes the file unless it got its name.
func (t *tempFile) discard() {
	if t.gone {
		return
	}
	t.gone = true
	t.file.Close()
	_ = os.Remove(t.path) // best effort: Sweep takes what stays
}

// Leftovers lists the temporary files that killed runs left in dir and that
// nobody has written for olderThan. Only regular files with our pattern of
// name are listed. A directory that is not there has none.
func Leftovers(dir string, olderThan time.Duration) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pattern := regexp.MustCompile(`^\..+\.sessctl-[0-9a-f]{16}\.tmp$`)
	var paths []string
	for _, entry := range entries {
		if pattern.MatchString(entry.Name()) && abandoned(entry, olderThan) {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths, nil
}

func abandoned(entry fs.DirEntry, olderThan time.Duration) bool {
	fi, err := entry.Info()
	return err == nil && fi.Mode().IsRegular() && time.Since(fi.ModTime()) >= olderThan
}

// Sweep removes what [Leftovers] lists, with the first duration given or
// [SweepAge], and ends moves that were killed. A caller that holds the lock under which dir is written may
// sweep with age 0.
func Sweep(dir string, olderThan ...time.Duration) error {
	age := SweepAge
	if len(olderThan) > 0 {
		age = olderThan[0]
	}
	paths, err := Leftovers(dir, age)
	if err != nil {
		return explain("sweep", dir, dir, err)
	}
	for _, path := range paths {
		if err := RemoveFile(path); err != nil {
			return err
		}
	}
	return EndMoves(dir)
}
