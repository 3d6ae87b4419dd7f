package agent

import (
	"context"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// places says where the logs of this runtime lie: one in each session's
// directory.
func (s *Store) places() directory.Places {
	return directory.Places{
		Base: s.base, Depth: 1, Store: s.root,
		Like: func(name string) bool { return name == metadataName || isRotated(name) },
		Log: func(below string) (session.Ref, bool) {
			id, name, _ := strings.Cut(below, "/")
			ref := session.Ref{Runtime: session.RuntimeAgent, Agent: agentName, ID: id, Kind: session.KindLive}
			return ref, name == logName && validID().MatchString(id)
		},
	}
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	place, err := s.places().Place(ctx, path, now)
	if err != nil || s.hasMetadata(place.Path) {
		return place, err
	}
	place.Note = "there is no metadata.json beside it, and no archive has one: the runtime may not list this session"
	return place, nil
}

func (s *Store) hasMetadata(log string) bool {
	d, _, err := directory.Of(s.base, log, 1)
	if err != nil {
		return false
	}
	defer d.Close()
	info, err := d.Stat(metadataName)
	return err == nil && info != nil
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
