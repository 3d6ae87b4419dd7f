package durable

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// ReplaceFile writes a file in full and puts it in the place of path, which
// need not exist. The write function gets the temporary file. If it returns an
// error, or a write has failed without its noticing, path stays as it was and
// the temporary file is removed. The file gets mode perm and, where the user may
// give it away, the owner of the file it replaces. A symbolic link at path is
// replaced, not followed.
//
// When the error comes from the last step, the sync of the directory, path has
// its new content but a power cut may still bring the old one back.
//
// A full disk is a [*SpaceError].
func ReplaceFile(path string, perm os.FileMode, write func(io.Writer) error) error {
	return ReplaceChecked(path, perm, write, nil)
}

// ReplaceChecked is [ReplaceFile] for a file that others replace as well: check
// gets the path of the temporary file, complete and synced, right before that
// takes the place of path. An error that it returns is returned as it is, and
// path stays as it was.
func ReplaceChecked(path string, perm os.FileMode, write func(io.Writer) error, check func(temp string) error) error {
	j := jobFor(path, perm)
	if old, err := os.Lstat(path); err == nil && old.Mode().IsRegular() {
		j.owner = old
	}
	j.publish, j.check = name.onto, check
	return j.runFor(path, write)
}

// ReplaceFileIn is [ReplaceFile] for a name in root, which is held open.
func ReplaceFileIn(root *os.Root, base string, perm os.FileMode, write func(io.Writer) error) error {
	return ReplaceCheckedIn(root, base, perm, write, nil)
}

// ReplaceCheckedIn is [ReplaceChecked] for a name in root, which is held open.
func ReplaceCheckedIn(root *os.Root, base string, perm os.FileMode, write func(io.Writer) error, check func(temp string) error) error {
	j := jobIn(root, base, perm)
	if old, err := root.Lstat(base); err == nil && old.Mode().IsRegular() {
		j.owner = old
	}
	j.publish, j.check = name.onto, check
	return j.runFor(base, write)
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

// CreateCheckedIn is [CreateFile] for a name in root, which is held open, with the
// mode and, where the user may give a file away, the owner of another file (mode
// 0600 with nil): a fresh session is made beside the one it is exchanged with.
// Somebody may write at the name as soon as there is a file, so check, which may be
// nil, gets the path of the temporary file, complete and synced. An error that it
// returns is returned as it is and leaves no file. Nothing needs to be taken back
// afterwards.
func CreateCheckedIn(root *os.Root, base string, like os.FileInfo, write func(io.Writer) error, check func(temp string) error) error {
	if _, err := root.Lstat(base); err == nil {
		return fmt.Errorf("create %s: %w", filepath.Join(root.Name(), base), ErrExists)
	}
	j := jobIn(root, base, 0o600)
	if like != nil {
		j.perm, j.owner = like.Mode().Perm(), like
	}
	j.check = check
	return j.runFor(base, write)
}

// CreateNamed makes a new file in dir whose name is known only when its
// content is: write returns the base name. The label is part of the temporary
// name, for a person who finds it. It returns the path of the file. Like
// [CreateFile] it never replaces; an error from write is returned as it is and
// leaves no file. [OpenElsewhere] says of the temporary file that it is open until
// it has its name, where the system can tell and renames files that are open.
func CreateNamed(dir, label string, perm os.FileMode, write func(io.Writer) (string, error)) (string, error) {
	return jobFor(filepath.Join(dir, label), perm).runNamed(write)
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
	open  bool        // the file stays open until it has its name
	// check, if not nil, looks at the temporary file before it gets its name.
	check func(temp string) error
	// publish gives the temporary file its name.
	publish func(temp, to name) error
	// in is the directory where it is held open already; nil: dir is opened.
	in *os.Root
	// step is called before each step, with its name. Tests stop here.
	step func(name string)
}

func jobFor(path string, perm os.FileMode) job {
	return job{
		dir: filepath.Dir(path), label: filepath.Base(path), perm: perm,
		publish: renameNew, step: func(string) {},
	}
}

func jobIn(root *os.Root, base string, perm os.FileMode) job {
	j := jobFor(filepath.Join(root.Name(), base), perm)
	j.in = root
	return j
}

func (j job) runFor(path string, write func(io.Writer) error) error {
	_, err := j.run(func(w io.Writer) (string, error) {
		return filepath.Base(path), write(w)
	})
	return err
}

// runNamed is run for [CreateNamed]. Only with leases anybody can tell that a file
// is open.
func (j job) runNamed(write func(io.Writer) (string, error)) (string, error) {
	j.open = runtime.GOOS == "linux"
	return j.run(write)
}

func (j job) run(write func(io.Writer) (string, error)) (path string, err error) {
	j.step("create")
	if j.in == nil {
		if j.in, err = os.OpenRoot(j.dir); err != nil {
			return "", explain("create", filepath.Join(j.dir, j.label), j.dir, err)
		}
		defer j.in.Close()
	}
	temp, err := createTemp(j.in, j.label)
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
		if err := j.check(temp.name.path()); err != nil {
			return "", err
		}
	}
	j.step("rename")
	if err := j.name(temp, base); err != nil {
		return "", j.giveUp(temp, "rename to", path, err)
	}
	temp.gone = true
	j.step("syncdir")
	if err := temp.name.sync(); err != nil {
		return path, explain("sync directory of", path, j.dir, err)
	}
	j.step("done")
	return path, nil
}

// name gives the temporary file its name and closes it, if that was not done
// before. All of it is synced by then, so that closing has nothing more to say.
func (j job) name(temp *tempFile, base string) error {
	to := temp.name.beside(base)
	err := j.publish(temp.name, to)
	if !j.open {
		return err
	}
	if temp.file.Close(); staysWhileOpen(err) {
		err = j.publish(temp.name, to)
	}
	return err
}

// staysWhileOpen reports what some network file systems answer to a rename of a
// file that is open. What a disk says stands: nothing is tried twice because of it.
func staysWhileOpen(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.ETXTBSY) || errors.Is(err, fs.ErrPermission)
}

// fill writes the temporary file, synced and with its mode, and closes it unless
// it stays open.
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
	err = temp.seal(j.perm, j.owner, j.step)
	if err == nil && !j.open {
		err = temp.file.Close()
	}
	if err != nil {
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
	name name
	gone bool // renamed or removed: nothing has the name any more
}

// createTemp opens a new hidden file in a directory with mode 0600.
func createTemp(in *os.Root, label string) (*tempFile, error) {
	temp := name{in, tempName(label)}
	file, err := in.OpenFile(temp.base, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	return &tempFile{file: file, name: temp}, nil
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

// seal gives the file its owner and mode, and syncs it. The mode comes
// after the owner: giving a file away may clear mode bits.
func (t *tempFile) seal(perm os.FileMode, owner os.FileInfo, step func(string)) error {
	if owner != nil {
		keepOwner(t.file, owner)
	}
	if err := t.file.Chmod(perm); err != nil {
		return err
	}
	step("sync")
	return t.file.Sync()
}

// discard removes the file unless it got its name.
func (t *tempFile) discard() {
	if t.gone {
		return
	}
	t.gone = true
	t.file.Close()
	_ = t.name.unlink() // best effort: Sweep takes what stays
}

// Leftovers lists the temporary files that killed runs left in dir and that
// nobody has written for olderThan. Only regular files with our pattern of
// name are listed. A directory that is not there has none.
func Leftovers(dir string, olderThan time.Duration) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	names, err := leftoversIn(root, olderThan)
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, err
}

// leftoversIn returns the names of what [Leftovers] lists in root.
func leftoversIn(root *os.Root, olderThan time.Duration) (names []string, err error) {
	hidden, err := hiddenIn(root)
	if err != nil {
		return nil, err
	}
	return leftoversOf(root, hidden, olderThan), nil
}

// leftoversOf are those among the hidden names in root.
func leftoversOf(root *os.Root, hidden []string, olderThan time.Duration) (names []string) {
	pattern := regexp.MustCompile(`^\..+\.sessctl-[0-9a-f]{16}\.tmp$`)
	for _, name := range hidden {
		if pattern.MatchString(name) && abandoned(root, name, olderThan) {
			names = append(names, name)
		}
	}
	return names
}

func abandoned(root *os.Root, base string, olderThan time.Duration) bool {
	fi, err := root.Lstat(base)
	return err == nil && fi.Mode().IsRegular() && time.Since(fi.ModTime()) >= olderThan
}

// Sweep removes what [Leftovers] lists, with the first duration given or
// [SweepAge], and ends moves that were killed. A caller that holds the lock
// under which dir is written may sweep with age 0.
func Sweep(dir string, olderThan ...time.Duration) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return explain("sweep", dir, dir, err)
	}
	defer root.Close()
	return SweepIn(root, olderThan...)
}

// SweepIn is [Sweep] for a directory that is held open.
func SweepIn(root *os.Root, olderThan ...time.Duration) error {
	age := SweepAge
	if len(olderThan) > 0 {
		age = olderThan[0]
	}
	hidden, err := hiddenIn(root)
	if err != nil {
		return explain("sweep", root.Name(), root.Name(), err)
	}
	for _, base := range leftoversOf(root, hidden, age) {
		if err := RemoveFileIn(root, base); err != nil {
			return err
		}
	}
	return endMovesOf(root, hidden)
}
