package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

// ShownFiles is how many files of one kind are named; the rest is counted.
const ShownFiles = 5

// Replaceable says whether everybody may write, and no sticky bit keeps names
// to their owners.
func Replaceable(info os.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0
}

// WritableByOthers says whether group or others may change a file.
func WritableByOthers(info os.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0
}

// OpenToOthers lists the files below root with a permission for group or others.
func OpenToOthers(root string) (open []string, err error) {
	if runtime.GOOS == "windows" {
		return nil, nil // modes mean nothing there
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone since, or not ours to see
		}
		info, err := e.Info()
		if err == nil && info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			open = append(open, path)
		}
		return nil
	})
	return open, err
}

// OthersReach says whether every user can reach what is in a directory.
func OthersReach(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

// OwnDir is a directory in which this tool makes files.
type OwnDir struct {
	Dir    string
	Advice string // what to do about a temporary file in it
}

// ErrUnsound ends the check of a memory in which something was found.
var ErrUnsound = errors.New("something is wrong in it")

// AdviseMemory is what to do about a problem of the memory in dir; path is where
// it is.
func AdviseMemory(path, dir string) string {
	if strings.HasPrefix(path, memory.ForgottenDir(dir)) {
		return AdviseFix + ", as long as the memory knows what was forgotten; else " + workspace.AdviseForgotten
	}
	if strings.HasPrefix(path, memory.StoredDir(dir)) {
		return AdviseFix + ", as long as the memory has what agents stored; else put the file back from a backup"
	}
	return "lost vectors: sessctl memory reindex --pending; a damaged database: sessctl memory reindex --from-archives"
}

// StatOf tells whether a file has changed.
func StatOf(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// SetAside lists the damaged memories that are kept.
func SetAside(a *workspace.Settings) (paths []string) {
	entries, err := os.ReadDir(a.DataDir())
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if ok, _ := filepath.Match("memory.damaged-*", e.Name()); ok {
			paths = append(paths, filepath.Join(a.DataDir(), e.Name()))
		}
	}
	return paths
}
