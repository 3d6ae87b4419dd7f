package pi

import (
	"context"
	"path"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	dirs "github.com/sessctl/sessctl/pkg/session/directory"
)

// places says where the logs of this runtime lie: in the directory of a working
// directory, or in the sessions directory itself.
func (s *Store) places() dirs.Places {
	return dirs.Places{
		Base: s.base, Depth: 1, Store: s.root,
		Like: isLog,
		Log: func(below string) (session.Ref, bool) {
			n, ok, _ := parseName(path.Base(below))
			agent := path.Base(path.Dir(below))
			if agent == "." {
				agent = filepath.Base(s.base)
			}
			return session.Ref{Runtime: session.RuntimePi, Agent: agentOf(agent), ID: session.CleanID(n.id()), Kind: session.KindLive}, ok && !n.rotated
		},
	}
}

// isLog reports whether a name is that of a log, or of one that was moved aside.
func isLog(name string) bool {
	_, ok, _ := parseName(name)
	return ok
}

// Place implements [session.Restorer]. A rotated name, which is this tool's,
// stands for the log's own.
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	p, err := s.places().Place(ctx, path, now)
	if err != nil || !p.There {
		return p, err
	}
	d, name, err := s.directoryOf(p.Path)
	if err != nil {
		return p, err
	}
	defer d.close()
	if h, err := d.readHead(name); err == nil && h.Found {
		p.Ref.ID = session.CleanID(h.ID)
	}
	return p, nil
}

// Unused implements [session.Restorer]. pi takes no locks.
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
