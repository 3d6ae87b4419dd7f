package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Absolute makes the path of a root absolute; one that cannot be stays what it
// is.
func Absolute(root string) string {
	if absolute, err := filepath.Abs(root); err == nil {
		return absolute
	}
	return root
}

// Expand makes a path from the environment absolute; ~ is the home directory.
// Nothing stays nothing.
func Expand(path, home string) string {
	if path == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		path = filepath.Join(home, rest)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	return absolute
}

// IsDirectory reports whether a path leads to a directory, through links too.
func IsDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// MayHold reports whether a path leads to a directory, through links too, or nobody
// can tell: who reads it says why it cannot be read.
func MayHold(path string) bool {
	info, err := os.Stat(path)
	return mayHold(path, info, err)
}

// Unreadable returns why nobody can tell whether a path leads to a directory. It
// returns nil where that is known.
func Unreadable(path string) error {
	info, err := os.Stat(path)
	if err == nil || !mayHold(path, info, err) {
		return nil
	}
	return fmt.Errorf("open store: %w", err)
}

// Holding returns the directory of that name in the home directory, if there
// is one and it holds a directory called inside, or nobody can tell.
func Holding(home, name, inside string) []string {
	root := filepath.Join(home, name)
	if home == "" || !MayHold(filepath.Join(root, inside)) {
		return nil
	}
	return []string{root}
}

// Within returns the directory of that name in root, or root itself if it has
// none: a store may be opened with either.
func Within(root, name string) string {
	if below := filepath.Join(root, name); IsDirectory(below) || IsDirectory(root) && MayHold(below) {
		return below
	}
	return root
}

// Existing returns the directories among paths as absolute paths, without a
// second name of one that is there already. A path of which nobody can tell whether
// there is one is returned too: who reads it says why it cannot be read.
func Existing(paths ...string) []string {
	var found []string
	var seen []os.FileInfo
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "" || !mayHold(path, info, err) || err == nil && hasFile(seen, info) {
			continue
		}
		absolute, wrong := filepath.Abs(path)
		if wrong != nil || slices.Contains(found, absolute) {
			continue
		}
		if found = append(found, absolute); err == nil {
			seen = append(seen, info)
		}
	}
	return found
}

// mayHold reports whether a path that was looked at is a directory, or may be one:
// somebody has taken away the right to look, it is a link that leads to nothing now,
// such as one to a disk that is not mounted, or the disk itself does not answer.
func mayHold(path string, info os.FileInfo, err error) bool {
	switch {
	case err == nil:
		return info.IsDir()
	case errors.Is(err, fs.ErrNotExist):
		return leadsNowhere(path)
	}
	unknown := []error{fs.ErrPermission, syscall.ELOOP, syscall.EIO, syscall.ENOTCONN, syscall.ESTALE, syscall.ETIMEDOUT}
	return slices.ContainsFunc(unknown, func(why error) bool { return errors.Is(err, why) })
}

// leadsNowhere reports whether a path that is not there has a link on its way that
// leads to nothing. One that leads to a directory is no reason: what is not in that is
// not there.
func leadsNowhere(path string) bool {
	for {
		info, err := os.Lstat(path)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			_, err = os.Stat(path)
			return err != nil
		}
		parent := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || parent == path {
			return false
		}
		path = parent
	}
}

func hasFile(all []os.FileInfo, one os.FileInfo) bool {
	for _, info := range all {
		if os.SameFile(info, one) {
			return true
		}
	}
	return false
}
