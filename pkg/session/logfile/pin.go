package logfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Pin holds the base of a store open from the first look at it on, so that all
// of a run happens in one directory: a link that somebody puts in its place
// meanwhile leads nowhere. A link that is there before is the user's. A nil Pin
// opens the base anew each time. It may be used by several goroutines at once,
// and is released with the store.
type Pin struct {
	mutex sync.Mutex
	root  *os.Root
}

// OpenRoot opens the base, by its path the first time. The caller closes what it
// gets. A base that is not there yet is looked for again the next time.
func (p *Pin) OpenRoot(path string) (*os.Root, error) {
	if p == nil {
		return os.OpenRoot(path)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.root == nil {
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, err
		}
		p.root = root
	}
	return p.root.OpenRoot(".")
}

// Top opens the base of the store.
func (l *Logs) Top() (*Dir, error) {
	if l.Pin == nil {
		return Open(l.Base)
	}
	if info, err := os.Stat(l.Base); err == nil && !info.IsDir() { // opening a pipe would wait for ever
		return nil, fmt.Errorf("open %s: %w", l.Base, ErrNoDirectory)
	}
	root, err := l.Pin.OpenRoot(l.Base)
	if err != nil {
		return nil, err
	}
	return &Dir{Root: root, Path: l.Base}, nil
}

// Directory opens the directory of a log that lies below the base, at most Depth
// directories down, and returns the log's name in it. An error for a path that
// is anywhere else.
func (l *Logs) Directory(path string) (*Dir, string, error) {
	below, err := filepath.Rel(l.Base, path)
	if err != nil || !filepath.IsLocal(below) || strings.Count(filepath.ToSlash(below), "/") > l.Depth {
		return nil, "", fmt.Errorf("%s is not a session of the store %s", path, l.Base)
	}
	top, err := l.Top()
	if err != nil {
		return nil, "", fmt.Errorf("open store: %w", err)
	}
	defer top.Close()
	d, err := top.Below(filepath.Dir(below))
	if err != nil {
		return nil, "", fmt.Errorf("open the directory of %s: %w", path, err)
	}
	return d, filepath.Base(below), nil
}
