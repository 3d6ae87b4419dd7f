package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// List implements [session.Store]. The sessions of an agent come together, in
// the order of their file names; what could not be used is a notice. Only
// names, the index and locks are read, and of main sessions the header.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return session.Listing{}, fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	l := &lister{store: s, root: root, now: time.Now()}
	agents, err := l.agents()
	if err != nil {
		return session.Listing{}, err
	}
	l.listing.Agents = agents
	for _, agent := range agents {
		if err := l.agent(ctx, agent); err != nil {
			return session.Listing{}, err
		}
	}
	return l.listing, nil
}

// lister collects the sessions of one store.
type lister struct {
	store   *Store
	root    *os.Root
	now     time.Time
	listing session.Listing
}

func (l *lister) notice(path, hint, format string, args ...any) {
	l.listing.Notices = append(l.listing.Notices, session.Notice{Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// agents returns the ids of the store's agents, sorted.
func (l *lister) agents() ([]string, error) {
	dir, err := openBelow(l.root, agentsName)
	if errors.Is(err, fs.ErrNotExist) {
		l.notice(l.store.root, "a state directory of OpenClaw holds agents/<agent>/sessions/", "no agents here")
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Join(l.store.root, agentsName), err)
	}
	defer dir.Close()
	names, err := (&directory{root: dir}).names()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", filepath.Join(l.store.root, agentsName), err)
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return !l.isAgent(dir, name) }), nil
}

func (l *lister) isAgent(dir *os.Root, name string) bool {
	path := filepath.Join(l.store.root, agentsName, name)
	info, err := dir.Stat(name)
	switch {
	case err != nil && isLink(dir, name):
		l.notice(path, "", "skipped: a symbolic link that leads nowhere or out of the store")
	case err != nil:
		l.notice(path, "", "skipped: %v", err)
	case !info.IsDir() || strings.HasPrefix(name, "."):
	case !session.SafeID(name):
		l.notice(path, "", "skipped: the agent's id is not one that is safe in a path")
	default:
		return true
	}
	return false
}

func isLink(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// agent lists one agent. Only a context that ended is an error.
func (l *lister) agent(ctx context.Context, agent string) error {
	db, frozen, err := l.store.era(l.root, agent)
	if err != nil {
		l.doubtful(agent, frozen, err)
	}
	if db != nil {
		l.database(ctx, db, agent)
	}
	l.imported(agent)
	d, err := l.store.directory(l.root, agent)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ctx.Err()
	case err != nil:
		l.notice(filepath.Join(l.store.root, agentsName, agent, sessionsName), "", "skipped: %v", err)
		return ctx.Err()
	}
	defer d.close()
	return l.sessions(ctx, d, frozen)
}

// sessions lists one sessions directory. frozen says why none of its sessions
// may be changed, "" if they may.
func (l *lister) sessions(ctx context.Context, d *directory, frozen string) error {
	v, err := d.look(ctx, frozen)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		l.notice(d.path, "", "skipped: %v", err)
		return nil
	}
	l.tell(v)
	for _, name := range slices.Sorted(maps.Keys(v.all.byName)) {
		l.log(v, v.all.byName[name])
	}
	return nil
}
