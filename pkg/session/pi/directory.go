package pi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// directory is one directory of sessions, opened so that no name in it leads
// out of the store.
type directory struct {
	root  *os.Root
	path  string // absolute
	agent string
}

// errNoDirectory is returned when a name of the store is that of a file.
var errNoDirectory = errors.New("not a directory")

// openDirectory opens a directory of the store by its name; "." is the
// sessions directory itself, which holds logs if pi was given it with
// --session-dir.
func (s *Store) openDirectory(store *os.Root, name string) (*directory, error) {
	// Looked at before it is opened: opening a pipe would wait for ever.
	info, err := store.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNoDirectory}
	}
	root, err := store.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.base, name)
	return &directory{root: root, path: path, agent: agentOf(filepath.Base(path))}, nil
}

// directoryOf opens the directory of a log by the log's absolute path.
func (s *Store) directoryOf(path string) (*directory, string, error) {
	below, err := filepath.Rel(s.base, path)
	if err != nil || !filepath.IsLocal(below) || strings.Count(filepath.ToSlash(below), "/") > 1 {
		return nil, "", fmt.Errorf("%s is not a session of the store %s", path, s.root)
	}
	store, err := os.OpenRoot(s.base)
	if err != nil {
		return nil, "", fmt.Errorf("open store: %w", err)
	}
	defer store.Close()
	d, err := s.openDirectory(store, filepath.Dir(below))
	if err != nil {
		return nil, "", fmt.Errorf("open the directory of %s: %w", path, err)
	}
	return d, filepath.Base(below), nil
}

func (d *directory) close() error { return d.root.Close() }

// at is the absolute path of a name, which is one word. There are many names,
// and filepath.Join looks at every byte of each path.
func (d *directory) at(name string) string {
	if os.IsPathSeparator(d.path[len(d.path)-1]) {
		return d.path + name
	}
	return d.path + string(filepath.Separator) + name
}

// open opens a regular file. It never follows a link and never waits.
func (d *directory) open(name string) (*os.File, error) { return durable.OpenRegularIn(d.root, name) }

func (d *directory) stat(name string) (os.FileInfo, error) { return d.root.Lstat(name) }

// statIfThere is stat, and nil for a file that is not there.
func (d *directory) statIfThere(name string) (os.FileInfo, error) {
	info, err := d.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", d.at(name), err)
	}
	return info, nil
}

// names lists a directory.
func names(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// inPlace checks that the path still leads to the directory that is open:
// what changes names works on paths.
func (d *directory) inPlace() error {
	byPath, err := os.Stat(d.path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", d.path, err)
	}
	opened, err := d.root.Stat(".")
	if err != nil {
		return fmt.Errorf("look at %s: %w", d.path, err)
	}
	if !os.SameFile(byPath, opened) {
		return &session.BusyError{Path: d.path, Reason: "another directory has taken its place"}
	}
	return nil
}

// unusable says, for people, why a file can be no session here; "" if it can.
func unusable(info os.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link: sessions are read only where they lie"
	case mode.IsDir():
		return "a directory with the name of a session"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe with the name of a session"
	case !mode.IsRegular():
		return "a device or socket with the name of a session"
	case durable.Identify(info).Links > 1:
		return "a file with several names (hard links): changing it would change something else"
	}
	return ""
}
