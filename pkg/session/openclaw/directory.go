package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// directory is one agent's sessions directory, opened so that no name in it
// leads out of the store.
type directory struct {
	root  *os.Root
	path  string // absolute
	agent string
	pause func(ctx context.Context, d time.Duration) error
}

// openDirectory opens the sessions directory of an agent.
func (s *Store) openDirectory(agent string) (*directory, error) {
	store, err := os.OpenRoot(s.root)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	defer store.Close()
	return s.directory(store, agent)
}

// directory opens the sessions directory of an agent of an open store.
func (s *Store) directory(store *os.Root, agent string) (*directory, error) {
	name := filepath.Join(agentsName, agent, sessionsName)
	root, err := openBelow(store, name)
	if err != nil {
		return nil, err
	}
	return &directory{root: root, path: filepath.Join(s.root, name), agent: agent, pause: s.pause}, nil
}

// openBelow opens a directory below root. It looks before it opens: opening a
// pipe would wait for ever.
func openBelow(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a directory")}
	}
	return root.OpenRoot(name)
}

// directoryOf opens the directory of a log by the log's absolute path, which
// must be agents/<agent>/sessions/<name> in this store.
func (s *Store) directoryOf(path string) (*directory, string, error) {
	agent, name, err := s.split(path)
	if err != nil {
		return nil, "", err
	}
	d, err := s.openDirectory(agent)
	if err != nil {
		return nil, "", fmt.Errorf("open the directory of %s: %w", path, err)
	}
	return d, name, nil
}

// split takes the path of a log apart.
func (s *Store) split(path string) (agent, name string, err error) {
	below, err := filepath.Rel(s.root, path)
	if err != nil || !filepath.IsLocal(below) {
		return "", "", fmt.Errorf("%s is not in the store %s", path, s.root)
	}
	parts := strings.Split(filepath.ToSlash(below), "/")
	if len(parts) != 4 || parts[0] != agentsName || parts[2] != sessionsName || !session.SafeID(parts[1]) {
		return "", "", fmt.Errorf("%s is not a session of the store %s", path, s.root)
	}
	return parts[1], parts[3], nil
}

func (d *directory) close() error { return d.root.Close() }

// at is the absolute path of a name.
func (d *directory) at(name string) string { return filepath.Join(d.path, name) }

// open opens a regular file. It never follows a link and never waits.
func (d *directory) open(name string) (*os.File, error) { return durable.OpenRegularIn(d.root, name) }

func (d *directory) stat(name string) (os.FileInfo, error) { return d.root.Lstat(name) }

// names lists the directory.
func (d *directory) names() ([]string, error) {
	dir, err := d.root.Open(".")
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
