package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pins hold the directories open in which a run works, from the first look at
// each to the end of the run, so that all of the run happens in the same ones: a
// link that somebody puts in the place of a directory meanwhile leads nowhere.
//
// A directory that was named with [Pins.Top] is opened by its path, once: a link
// that is there by then is the user's, and is followed. What lies below it is
// opened from it, and a link on the way that leads out of it is an error. A
// directory that is below no top becomes one.
//
// The methods are those of the package, for names in these directories. Before
// [Pins.Hold], after [Pins.Release] and with nil Pins they work on paths, as the
// functions do. Pins may be used by several goroutines at once.
type Pins struct {
	mutex sync.Mutex
	holds int
	tops  tops
}

// tops are the directories at which links are followed. Their owner has the lock.
type tops struct {
	roots map[string]*os.Root // by path; nil until it is opened
	// refused are directories in whose place a link was when they, or what lies below
	// them, had just been made, and what was said then: for the rest of the run it is
	// not followed.
	refused map[string]error
}

// Hold begins a run, or a part of one. Each Hold needs a [Pins.Release].
func (p *Pins) Hold() {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.holds++
}

// Release ends what the last [Pins.Hold] began. After the first one is ended,
// nothing is open any more.
func (p *Pins) Release() {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.holds = max(p.holds-1, 0); p.holds > 0 {
		return
	}
	for path, root := range p.tops.roots {
		if root != nil {
			_ = root.Close() // it was only looked at
		}
		p.tops.roots[path] = nil
	}
	p.tops.refused = nil
}

// End releases whatever is held, however often [Pins.Hold] was called.
func (p *Pins) End() {
	if p == nil {
		return
	}
	p.mutex.Lock()
	p.holds = min(p.holds, 1)
	p.mutex.Unlock()
	p.Release()
}

// Top names a directory at which a link is followed. During a run it is opened
// at once, if it is there, and else when it is.
func (p *Pins) Top(dir string) {
	if p == nil {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	dir = filepath.Clean(dir)
	p.tops.add(dir)
	if p.holds > 0 && p.tops.roots[dir] == nil {
		_, _ = p.tops.open(dir) // whoever needs it is told
	}
}

// open opens a top: from the one that it is below, if that is open, else by its
// path.
func (ts *tops) open(top string) (root *os.Root, err error) {
	if err := ts.refusal(top); err != nil {
		return nil, err
	}
	if above, below := ts.nearest(filepath.Dir(top)); ts.roots[above] != nil {
		root, err = openTop(pinned{ts.roots[above], above, below}, top)
	} else {
		root, err = openDirectory(top)
	}
	if err == nil {
		ts.add(top)
		ts.roots[top] = root
	}
	return root, err
}

// openTop opens a top from the directory that it is in. A link at its own name is
// followed, wherever it leads; none on the way to it is.
func openTop(in pinned, top string) (*os.Root, error) {
	dir := in.root
	if in.below != "." {
		opened, err := in.root.OpenRoot(in.below)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		dir = opened
	}
	target, err := dir.Readlink(filepath.Base(top))
	switch {
	case err != nil: // no link, or nothing
		return dir.OpenRoot(filepath.Base(top))
	case !filepath.IsAbs(target):
		target = filepath.Join(filepath.Dir(top), target)
	}
	return openDirectory(target)
}

func (ts *tops) add(dir string) {
	if _, known := ts.roots[dir]; known {
		return
	}
	if ts.roots == nil {
		ts.roots = map[string]*os.Root{}
	}
	ts.roots[dir] = nil
}

// pinned is a directory that is held open for the run, and the way from it to
// another one.
type pinned struct {
	root  *os.Root
	top   string // its path
	below string
}

// find returns the nearest top above a directory, open. The root is nil outside
// of a run.
func (p *Pins) find(dir string) (pinned, error) {
	if p == nil {
		return pinned{}, nil
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.holds == 0 {
		return pinned{}, nil
	}
	dir = filepath.Clean(dir)
	top, below := p.tops.nearest(dir)
	if root := p.tops.roots[top]; root != nil {
		return pinned{root, top, below}, nil
	}
	root, err := p.tops.open(top)
	return pinned{root, top, below}, err
}

// nearest is the longest top that a directory is below, or the directory.
func (ts *tops) nearest(dir string) (top, below string) {
	for top = dir; ; top = filepath.Dir(top) {
		if _, known := ts.roots[top]; known {
			below, _ = filepath.Rel(top, dir) // it is a prefix
			return top, below
		}
		if top == filepath.Dir(top) {
			return dir, "."
		}
	}
}

// openDirectory opens a directory by its path. Opening a pipe would wait for
// ever, so it is looked at first.
func openDirectory(path string) (*os.Root, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open %s: not a directory", path)
	}
	return os.OpenRoot(path)
}

// OpenDir opens a directory. The caller closes it.
func (p *Pins) OpenDir(dir string) (*os.Root, error) {
	found, err := p.find(dir)
	switch {
	case err != nil:
		return nil, err
	case found.root == nil:
		return openDirectory(dir)
	}
	return found.root.OpenRoot(found.below)
}

// name opens the directory of a path.
func (p *Pins) name(path string) (name, error) {
	found, err := p.find(filepath.Dir(path))
	switch {
	case err != nil:
		return name{}, err
	case found.root == nil:
		return nameAt(path)
	}
	return nameIn(found.root, filepath.Join(found.below, filepath.Base(path)))
}

// within calls act with the directory of a path, or byPath outside of a run.
func (p *Pins) within(path string, byPath func() error, act func(root *os.Root, base string) error) error {
	if found, err := p.find(filepath.Dir(path)); err == nil && found.root == nil {
		return byPath()
	}
	n, err := p.name(path)
	if err != nil {
		return fmt.Errorf("open the directory of %s: %w", path, err)
	}
	defer n.close()
	return act(n.in, n.base)
}

// inside is within for a directory itself. One that is not there is passed over.
func (p *Pins) inside(dir string, byPath func() error, act func(root *os.Root) error) error {
	if found, err := p.find(dir); err == nil && found.root == nil {
		return byPath()
	}
	root, err := p.OpenDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer root.Close()
	return act(root)
}

// InPlace checks that the path of a directory still leads to the one that is
// held open. [ErrElsewhere] is returned if not.
func (p *Pins) InPlace(dir string) error {
	return p.inside(dir, func() error { return nil }, func(root *os.Root) error {
		held, err := root.Stat(".")
		if err != nil {
			return fmt.Errorf("look at %s: %w", dir, bare(err))
		}
		now, err := os.Stat(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at %s: %w", dir, bare(err))
		}
		if err != nil || !os.SameFile(held, now) {
			return fmt.Errorf("%s: %w", dir, ErrElsewhere)
		}
		return nil
	})
}

// Renew holds the directory that stands at the path of a top now, where another
// one was moved away since the top was opened. It is for what another run may
// replace under a lock that this one has just taken, and looks from the top above
// it. A link there is not followed: it stays with what is held. [ErrElsewhere] is
// returned when nothing is at the path any more.
func (p *Pins) Renew(top string) error {
	if p == nil {
		return nil
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	top = filepath.Clean(top)
	above, below := p.tops.nearest(filepath.Dir(top))
	held, in := p.tops.roots[top], p.tops.roots[above]
	if p.holds == 0 || held == nil || in == nil {
		return nil
	}
	below = filepath.Join(below, filepath.Base(top))
	now, err := in.Lstat(below)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", top, ErrElsewhere)
	case err != nil:
		return fmt.Errorf("look at %s: %w", top, bare(err))
	case !now.IsDir():
		return nil
	}
	return p.tops.replace(top, held, in, below)
}

// replace holds what is at a path below another top, if that is not held already.
func (ts *tops) replace(top string, held, in *os.Root, below string) error {
	root, err := in.OpenRoot(below)
	if err != nil {
		return fmt.Errorf("open %s: %w", top, bare(err))
	}
	before, errBefore := held.Stat(".")
	now, errNow := root.Stat(".")
	if err := errors.Join(errBefore, errNow); err != nil || os.SameFile(before, now) {
		_ = root.Close() // it was only looked at
		return err
	}
	ts.roots[top] = root
	return held.Close()
}

// MakeDir is [MakeDir].
func (p *Pins) MakeDir(dir string, perm os.FileMode) error {
	dir = filepath.Clean(dir)
	found, err := p.find(dir)
	if errors.Is(err, fs.ErrNotExist) {
		p.mutex.Lock()
		err = p.tops.make(found.top, perm)
		p.mutex.Unlock()
		if err != nil {
			return err
		}
		found, err = p.find(dir)
	}
	switch {
	case err != nil:
		return fmt.Errorf("make directory %s: %w", dir, bare(err))
	case found.root == nil:
		return MakeDir(dir, perm)
	case found.below == ".":
		return resyncParent(dir)
	}
	return makeDirIn(found.root, found.below, perm)
}

// make makes a top and opens it from the directory in which it was made, so
// that nothing can come between the two.
func (ts *tops) make(top string, perm os.FileMode) error {
	if err := ts.refusal(top); err != nil {
		return err
	}
	above := filepath.Dir(top)
	for above != filepath.Dir(above) {
		if _, err := os.Stat(above); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		above = filepath.Dir(above)
	}
	root := ts.roots[above]
	if root == nil {
		opened, err := openDirectory(above)
		if err != nil {
			return explain("make directory", top, above, err)
		}
		defer opened.Close()
		root = opened
	}
	below, err := filepath.Rel(above, top)
	if err != nil {
		return explain("make directory", top, above, err)
	}
	if err := makeDirIn(root, below, perm); err != nil {
		return ts.refuse(top, root, below, err)
	}
	made, err := root.OpenRoot(below)
	if err != nil {
		return ts.refuse(top, root, below, explain("make directory", top, above, err))
	}
	ts.add(top)
	ts.roots[top] = made
	return nil
}

// refuse returns the error of a top that could not be made or opened. If a link has
// its name, or that of a directory on the way to it from root, that is nobody's who was
// there before.
func (ts *tops) refuse(top string, root *os.Root, below string, err error) error {
	for ; below != "."; top, below = filepath.Dir(top), filepath.Dir(below) {
		info, look := root.Lstat(below)
		if look != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if ts.refused == nil {
			ts.refused = map[string]error{}
		}
		ts.refused[top] = err
	}
	return err
}

// refusal is why a directory, or one that it lies below, was refused.
func (ts *tops) refusal(dir string) error {
	for ; ts.refused != nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if err := ts.refused[dir]; err != nil {
			return err
		}
	}
	return nil
}

// MakeDirIn makes a directory below root, which is held open, as [MakeDir] does.
func MakeDirIn(root *os.Root, below string, perm os.FileMode) error {
	return makeDirIn(root, filepath.Clean(below), perm)
}

func makeDirIn(root *os.Root, below string, perm os.FileMode) error {
	if parent := filepath.Dir(below); parent != "." {
		if err := makeDirIn(root, parent, perm); err != nil {
			return err
		}
	}
	path := filepath.Join(root.Name(), below)
	at, err := nameIn(root, below)
	if err != nil {
		return explain("make directory", path, root.Name(), err)
	}
	defer at.close()
	err = at.in.Mkdir(at.base, perm)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	info, statErr := root.Stat(below)
	switch {
	case err == nil && statErr != nil:
		err = statErr // a link that leads out of the directory
	case err == nil && !info.IsDir():
		return fmt.Errorf("make directory %s: a file is in the way", path)
	case made:
		err = at.in.Chmod(at.base, perm) // the umask may have taken bits away
	}
	if err != nil {
		return explain("make directory", path, root.Name(), err)
	}
	if err := at.sync(); made || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil // as resyncParent
}

// SyncDir is [SyncDir].
func (p *Pins) SyncDir(dir string) error {
	return p.inside(dir, func() error { return SyncDir(dir) }, SyncDirIn)
}

// RemoveFile is [RemoveFile].
func (p *Pins) RemoveFile(path string) error {
	if found, err := p.find(filepath.Dir(path)); err == nil && found.root != nil {
		return RemoveFileIn(found.root, filepath.Join(found.below, filepath.Base(path)))
	}
	return RemoveFile(path)
}

// ReplaceFile is [ReplaceFile].
func (p *Pins) ReplaceFile(path string, perm os.FileMode, write func(io.Writer) error) error {
	return p.within(path, func() error { return ReplaceFile(path, perm, write) }, func(root *os.Root, base string) error {
		return ReplaceFileIn(root, base, perm, write)
	})
}

// CreateFile is [CreateFile].
func (p *Pins) CreateFile(path string, perm os.FileMode, write func(io.Writer) error) error {
	return p.within(path, func() error { return CreateFile(path, perm, write) }, func(root *os.Root, base string) error {
		if _, err := root.Lstat(base); err == nil {
			return fmt.Errorf("create %s: %w", path, ErrExists)
		}
		return jobIn(root, base, perm).runFor(base, write)
	})
}

// CreateNamed is [CreateNamed].
func (p *Pins) CreateNamed(dir, label string, perm os.FileMode, write func(io.Writer) (string, error)) (path string, err error) {
	byPath := func() error { path, err = CreateNamed(dir, label, perm, write); return err }
	err = p.within(filepath.Join(dir, label), byPath, func(root *os.Root, base string) error {
		j := jobIn(root, base, perm)
		j.dir = dir
		path, err = j.runNamed(write)
		return err
	})
	return path, err
}

// AppendLine is [AppendLine].
func (p *Pins) AppendLine(path string, line []byte, perm fs.FileMode) error {
	return p.within(path, func() error { return AppendLine(path, line, perm) }, func(root *os.Root, base string) error {
		return appendLineIn(root, base, line, perm)
	})
}

// MoveDir renames a directory within one file system and syncs the directories
// that hold its names; [ErrExists] is returned when anything is at to. The caller
// holds a lock under which nobody else makes that name. What lies at the old name from now on is another
// directory, and is opened when it is needed.
func (p *Pins) MoveDir(from, to string) error {
	if p == nil {
		return moveDir(from, to)
	}
	if err := p.InPlace(from); err != nil {
		return fmt.Errorf("move %s: %w", from, err)
	}
	if err := moveDir(from, to); err != nil {
		return err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, dir := range []string{filepath.Clean(from), filepath.Clean(to)} {
		if root := p.tops.roots[dir]; root != nil {
			_ = root.Close() // it was only looked at
			p.tops.roots[dir] = nil
		}
	}
	return nil
}

// MoveFile renames a file within one file system and syncs both directories.
// It never replaces: [ErrExists] is returned when anything is at to. A move
// that was killed between its two steps (where the file system can only link
// and unlink) is completed by calling it again. There, too, [ErrExists] is
// returned when somebody has renamed another file to from between the two: that
// file is at from then, and the one that was moved is at to.
func (p *Pins) MoveFile(from, to string) error {
	names, err := pairOf(p.name, from, to)
	if err != nil {
		return explain("move "+from+" to", to, filepath.Dir(to), err)
	}
	defer names.close()
	return moveName(renameOrLink, names.first, names.second)
}

// LinkFile gives a file a second name and makes it durable. [ErrExists] is
// returned when anything has that name, another error where the file system
// knows no second names.
func (p *Pins) LinkFile(path, second string) error {
	names, err := pairOf(p.name, path, second)
	if err != nil {
		return explain("link "+path+" as", second, filepath.Dir(second), err)
	}
	defer names.close()
	if err := names.first.link(names.second); err != nil {
		return explain("link "+path+" as", second, filepath.Dir(second), err)
	}
	return names.second.sync()
}

// OpenRegular is [OpenRegular].
func (p *Pins) OpenRegular(path string) (file *os.File, err error) {
	found, err := p.find(filepath.Dir(path))
	switch {
	case err != nil:
		return nil, err
	case found.root == nil:
		return OpenRegular(path)
	}
	return OpenRegularIn(found.root, filepath.Join(found.below, filepath.Base(path)))
}

// ReadSmall is [ReadSmall] for a file of our own: in a directory that is held
// open a link is [ErrNotRegular].
func (p *Pins) ReadSmall(path string, most int64) ([]byte, error) {
	if found, err := p.find(filepath.Dir(path)); err == nil && found.root == nil {
		return ReadSmall(path, most)
	}
	file, err := p.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	return readSmall(file, path, most)
}

// Lstat is os.Lstat.
func (p *Pins) Lstat(path string) (os.FileInfo, error) {
	found, err := p.find(filepath.Dir(path))
	switch {
	case err != nil:
		return nil, err
	case found.root == nil:
		return os.Lstat(path)
	}
	return found.root.Lstat(filepath.Join(found.below, filepath.Base(path)))
}

// ReadDir is os.ReadDir.
func (p *Pins) ReadDir(dir string) ([]fs.DirEntry, error) {
	found, err := p.find(dir)
	switch {
	case err != nil:
		return nil, err
	case found.root == nil:
		return os.ReadDir(dir)
	}
	return readDirIn(found.root, found.below)
}

// readDirIn lists a directory below root, sorted by name.
func readDirIn(root *os.Root, below string) ([]fs.DirEntry, error) {
	dir, err := root.Open(below)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// hiddenIn lists the names below root that begin with a dot, in order. Unlike
// [readDirIn] it does not look at each file.
func hiddenIn(root *os.Root) (hidden []string, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	const some = 1000 // of 100,000 names few are hidden
	for err == nil {
		var names []string
		names, err = dir.Readdirnames(some)
		for _, name := range names {
			if strings.HasPrefix(name, ".") {
				hidden = append(hidden, name)
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(hidden)
	return hidden, err
}

// Sweep is [Sweep].
func (p *Pins) Sweep(dir string, olderThan ...time.Duration) error {
	return p.inside(dir, func() error { return Sweep(dir, olderThan...) }, func(root *os.Root) error {
		return SweepIn(root, olderThan...)
	})
}

// Leftovers is [Leftovers].
func (p *Pins) Leftovers(dir string, olderThan time.Duration) (paths []string, err error) {
	err = p.inside(dir,
		func() error { paths, err = Leftovers(dir, olderThan); return err },
		func(root *os.Root) error {
			names, err := leftoversIn(root, olderThan)
			for _, name := range names {
				paths = append(paths, filepath.Join(dir, name))
			}
			return err
		})
	return paths, err
}

// SameFile reports whether two paths, which pins (nil or not) look at, are names of
// one file. A symbolic link is a file of its own; what cannot be looked at is no
// name of any.
func SameFile(pins *Pins, a, b string) bool {
	fa, errA := pins.Lstat(a)
	fb, errB := pins.Lstat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}
