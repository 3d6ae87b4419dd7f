package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programFor is the path by which others are to call this program: what was
// asked for, or its own. By its name in PATH it stays the same when a new version
// is installed; the path that the system knows may be that of this version only.
func (a *invocation) programFor(asked string) (string, error) {
	if asked != "" {
		path := absolute(asked)
		if !exists(path) {
			a.notice(note{Path: path, Message: "there is no such program yet"})
		}
		return path, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find out where this program is: %w", err)
	}
	if named, err := exec.LookPath(filepath.Base(os.Args[0])); err == nil && sameFile(named, path) {
		path = absolute(named)
	}
	return path, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// tellTemporary warns of a program in a directory that does not last, and says
// what becomes of it then.
func (a *invocation) tellTemporary(path, then string) {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		if below(dir, path) || strings.Contains(path, string(filepath.Separator)+"go-build") {
			a.tell(note{Path: path, Message: "the program is in a temporary directory: " + then + " when it is gone", Hint: "install sessctl, or name it with --program /usr/local/bin/sessctl"})
			return
		}
	}
}
