package durable

import (
	"io"
	"os"
	"path/filepath"
)

// IsFileOf is isFileOf.
var IsFileOf = isFileOf

// ReplaceFileStepping is ReplaceFile with step called before each step.
func ReplaceFileStepping(path string, step func(string), write func(io.Writer) error) error {
	j := jobFor(path, 0o600)
	j.publish, j.step = name.onto, step
	return j.runFor(path, write)
}

// CreateNamedStepping is CreateNamed with step called before each step.
func CreateNamedStepping(dir, label string, step func(string)) (string, error) {
	j := jobFor(filepath.Join(dir, label), 0o600)
	j.step = step
	return j.runNamed(func(io.Writer) (string, error) { return label, nil })
}

// CreateNamedClosed is CreateNamed on a file system that says why to a rename of
// a file that is open.
func CreateNamedClosed(dir, label string, why error) (string, error) {
	j := jobFor(filepath.Join(dir, label), 0o600)
	var temp *os.File
	j.publish = func(from, to name) error {
		if _, err := temp.Stat(); err == nil {
			return why
		}
		return renameNew(from, to)
	}
	return j.runNamed(func(w io.Writer) (string, error) {
		temp = w.(*carefulWriter).to.(*os.File)
		return label, nil
	})
}

// TempName is the name of a temporary file for label.
func TempName(label string) string { return tempName(label) }

// RenameByLink is what stands in for a rename that never replaces.
func RenameByLink(from, to string) error { return byPaths(renameByLink, from, to) }

// DropName is the second step of RenameByLink.
func DropName(from, to string) error { return byPaths(dropName, from, to) }

func byPaths(act func(from, to name) error, from, to string) error {
	a, err := nameAt(from)
	if err != nil {
		return err
	}
	defer a.close()
	b, err := nameAt(to)
	if err != nil {
		return err
	}
	defer b.close()
	return act(a, b)
}
