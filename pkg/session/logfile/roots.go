package logfile

import (
	"os"
	"path/filepath"
	"strings"
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

// Holding returns the directory of that name in the home directory, if there
// is one and it holds a directory called inside.
func Holding(home, name, inside string) []string {
	root := filepath.Join(home, name)
	if home == "" || !IsDirectory(filepath.Join(root, inside)) {
		return nil
	}
	return []string{root}
}

// Within returns the directory of that name in root, or root itself if it has
// none: a store may be opened with either.
func Within(root, name string) string {
	if below := filepath.Join(root, name); IsDirectory(below) {
		return below
	}
	return root
}

// Existing returns the directories among paths as absolute paths, without a
// second name of one that is there already.
func Existing(paths ...string) []string {
	var found []string
	var seen []os.FileInfo
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "" || err != nil || !info.IsDir() || hasFile(seen, info) {
			continue
		}
		if absolute, err := filepath.Abs(path); err == nil {
			found, seen = append(found, absolute), append(seen, info)
		}
	}
	return found
}

func hasFile(all []os.FileInfo, one os.FileInfo) bool {
	for _, info := range all {
		if os.SameFile(info, one) {
			return true
		}
	}
	return false
}
