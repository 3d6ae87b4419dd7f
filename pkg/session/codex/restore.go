package codex

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// places says where the rollouts of this runtime lie. Codex owns them: one that
// is gone can come back, and one that is there is never replaced.
func (s *Store) places() directory.Places {
	return directory.Places{Base: s.root, Depth: deepest, Store: s.root, Owned: true, Log: s.placed}
}

func (s *Store) placed(below string) (session.Ref, bool) {
	id, ok := threadOf(path.Base(below))
	ref := session.Ref{Runtime: session.RuntimeCodex, Agent: noAgent, ID: id, Kind: session.KindLive}
	area, _, _ := strings.Cut(below, "/")
	switch area {
	case archivedName:
		ref.Kind = session.KindArchived
	case sessionsName:
	default:
		ok = ok && !isDirectory(filepath.Join(s.root, sessionsName)) // a directory of rollouts
	}
	return ref, ok
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Place implements [session.Restorer]. A rollout that Codex has compressed, or
// uncompressed, since it was archived is there under its other name.
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	place, err := s.places().Place(ctx, path, now)
	if err != nil || place.There {
		return place, err
	}
	other := place.Path + strings.TrimPrefix(coldEnd, plainEnd)
	if plain, cold := strings.CutSuffix(place.Path, coldEnd); cold {
		other = plain + plainEnd
	}
	if _, err := os.Lstat(other); !errors.Is(err, fs.ErrNotExist) {
		return place, directory.Unsupported(path, "Codex has this thread in "+filepath.Base(other))
	}
	place.Note = "Codex lists its threads from a database of its own, and may not show this one there"
	return place, nil
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
