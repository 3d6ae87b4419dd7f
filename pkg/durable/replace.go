package durable

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ReplaceFile writes a file in full and puts it in the place of path, which
// need not exist. The write function gets the temporary file; an error it
// returns, or a write that failed whether it noticed or not, leaves path as it
// was and removes the temporary file. The file gets mode perm and, where the
// user may give it away, the owner of the file it replaces. A symbolic link at
// path is replaced, not followed.
//
// When the error comes from the last step, the sync of the directory, path has
// its new content but a power cut may still bring the old one back.
//
// A full disk is a [*SpaceError].
func ReplaceFile(path string, perm os.FileMode, write func(io.Writer) error) error {
	j := jobFor(path, perm)
	if old, err := os.Lstat(path); err == nil && old.Mode().IsRegular() {
		j.owner = old
	}
	j.publish = os.Rename
	return j.runFor(path, write)
}

// CreateFile is [ReplaceFile] for a file that must not exist yet: it returns
// [ErrExists] and changes nothing when anything is at path, also when that
// appeared during the write.
func CreateFile(path string, perm os.FileMode, write func(io.Writer) error) error {
	if err := mustBeAbsent(path); err != nil {
		return err
	}
	return jobFor(path, perm).runFor(path, write)
}

// CreateLike is [CreateFile] with the mode and, where the user may give a file
// away, the owner of another file: a fresh session is made beside the one it
// is exchanged with.
func CreateLike(path string, like os.FileInfo, write func(io.Writer) error) error {
	if err := mustBeAbsent(path); err != nil {
		return err
	}
	j := jobFor(path, like.Mode().Perm())
	j.owner = like
	return j.runFor(path, write)
}

// CreateChecked is [CreateLike], or with nil like [CreateFile] with mode 0600,
// for a name at which somebody may write as soon as there is a file: check gets
// the path of the temporary file, complete and synced, and an error that it
// returns is returned as it is and leaves no file. Nothing needs to be taken
// back afterwards.
func CreateChecked(path string, like os.FileInfo, write func(io.Writer) error, check func(temp string) error) error {
	if err := mustBeAbsent(path); err != nil {
		return err
	}
	j := jobFor(path, 0o600)
	if like != nil {
		j.perm, j.owner = like.Mode().Perm(), like
	}
	j.check = check
	return j.runFor(path, write)
}

// CreateNamed makes a new file in dir whose name is known only when its
// content is: write returns the base name. The label is part of the temporary
// name, for a person who finds it. It returns the path of the file. Like
// [CreateFile] it never replaces; an error from write is returned as it is and
// leaves no file.
func CreateNamed(dir, label string, perm os.FileMode, write func(io.Writer) (string, error)) (string, error) {
	j := jobFor(filepath.Join(dir, label), perm)
	return j.run(write)
}

func mustBeAbsent(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("create %s: %w", path, ErrExists)
	}
	return nil
}

// job is one file on its way to its name.
type job struct {
	dir   string
	label string // in the temporary name and in errors
	perm  os.FileMode
	owner os.FileInfo // whose owner the file gets; nil: ours
	// check, if not nil, looks at the temporary file before it gets its name.
	check func(temp string) error
	// publish gives the temporary file its name.
	publish func(temp, path string) error
	// step is called before each step, with its name. Tests stop here.
	step func(name string)
}

func jobFor(path string, perm os.FileMode) job {
	return job{
		dir: filepath.Dir(path), label: filepath.Base(path), perm: perm,
		publish: renameNew, step: func(string) {},
	}
}

func (j job) runFor(path string, write func(io.Writer) error) error {
	_, err := j.run(func(w io.Writer) (string, error) {
		return filepath.Base(path), write(w)
	})
	return err
}

func (j job) run(write func(io.Writer) (string, error)) (path string, err error) {
	j.step("create")
	temp, err := createTemp(j.dir, j.label)
	if err != nil {
		return "", explain("create", filepath.Join(j.dir, j.label), j.dir, err)
	}
	defer temp.discard()
	base, err := j.fill(temp, write)
	if err != nil {
		return "", err
	}
	path = filepath.Join(j.dir, base)
	if j.check != nil {
		if err := j.check(temp.path); err != nil {
			return "", err
		}
	}
	j.step("rename")
	if err := j.publish(temp.path, path); err != nil {
		return "", j.giveUp(temp, "rename to", path, err)
	}
	temp.gone = true
	j.step("syncdir")
	if err := SyncDir(j.dir); err != nil {
		return path, explain("sync directory of", path, j.dir, err)
	}
	j.step("done")
	return path, nil
}

// fill writes the temporary file and closes it, synced and with its mode.
func (j job) fill(temp *tempFile, write func(io.Writer) (string, error)) (string, error) {
	path := filepath.Join(j.dir, j.label)
	j.step("write")
	w := &carefulWriter{to: temp.file}
	base, err := write(w)
	if w.err != nil {
		return "", j.giveUp(temp, "write", path, w.err)
	}
	if err != nil {
		return "", err
	}
	if base == "" || base != filepath.Base(base) || base == "." || base == ".." {
		return "", fmt.Errorf("write %s: %q is not a file name", path, base)
	}
	j.step("seal")
	if err := temp.seal(j.perm, j.owner, j.step); err != nil {
		return "", j.giveUp(temp, "write", path, err)
	}
	return base, nil
}

// giveUp removes the temporary file and explains, in this order: the free space
// in the error is what there is without it.
func (j job) giveUp(temp *tempFile, op, path string, err error) error {
	temp.discard()
	return explain(op, path, j.dir, err)
}

// carefulWriter remembers the first failed write, so that a caller's callback
// cannot lose it, and writes nothing after it.
type carefulWriter struct {
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (w *carefulWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.to.Write(p)
	w.err = err
	return n, err
}
