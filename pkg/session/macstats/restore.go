package macstats

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// places says where the sessions of this runtime lie: in one directory.
func (s *Store) places() directory.Places {
	return directory.Places{
		Base: s.base, Store: s.root,
		Like: func(name string) bool {
			log, _ := directory.Unrotated(name)
			_, ok := parseName(log)
			return ok
		},
		Log: func(below string) (session.Ref, bool) {
			id, ok := parseName(below)
			return session.Ref{Runtime: session.RuntimeMacStats, Agent: agentName, ID: idOf(below), Key: id, Kind: session.KindLive}, ok
		},
	}
}

// idOf is a session's id by the name of its file.
func idOf(name string) string {
	return session.CleanID(strings.TrimSuffix(strings.TrimPrefix(name, "session-memory-"), ".md"))
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	return s.places().Place(ctx, path, now)
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}

// Succeeded implements [session.Successor]: after a clear the program begins
// another file for the conversation.
func (s *Store) Succeeded(ctx context.Context, r session.Rotation) error {
	conversation, _ := parseName(filepath.Base(r.Live))
	listing, err := s.List(ctx)
	if err != nil {
		return err
	}
	for _, ref := range listing.Refs {
		if ref.Kind != session.KindLive || ref.Key != conversation || ref.Path == r.Live || !ref.ModTime.After(r.At) {
			continue
		}
		tail, err := s.Tail(ctx, ref)
		if err != nil {
			return err
		}
		if tail.Messages > 0 {
			return &session.NewerError{Path: ref.Path, Session: ref.ID, Messages: tail.Messages}
		}
	}
	return nil
}
