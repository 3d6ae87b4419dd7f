package unattended

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/internal/workspace"
)

// programFor is the path by which others are to call this program: what was
// asked for, or its own. By its name in PATH it stays the same when a new version
// is installed; the path that the system knows may be that of this version only.
func programFor(a *workspace.Run, asked string) (string, error) {
	if asked != "" {
		path := workspace.Absolute(asked)
		if !workspace.Exists(path) {
			a.Notice(workspace.Note{Path: path, Message: "there is no such program yet"})
		}
		return path, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find out where this program is: %w", err)
	}
	if named, err := exec.LookPath(filepath.Base(os.Args[0])); err == nil && workspace.SameFile(named, path) {
		path = workspace.Absolute(named)
	}
	return path, nil
}

// TellTemporary warns of a program in a directory that does not last, and says
// what becomes of it then.
func TellTemporary(a *workspace.Run, path, then string) {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		if workspace.Below(dir, path) || strings.Contains(path, string(filepath.Separator)+"go-build") {
			a.Tell(workspace.Note{Path: path, Message: "the program is in a temporary directory: " + then + " when it is gone", Hint: "install sessctl, or name it with --program /usr/local/bin/sessctl"})
			return
		}
	}
}
