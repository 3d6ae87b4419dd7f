package annabelle

import (
	"context"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// places says where the logs of this runtime lie: in the directory of their
// agent, one a chat.
func (s *Store) places() directory.Places {
	return directory.Places{
		Base: s.base, Depth: 1, Store: s.root,
		Like: func(name string) bool {
			log, _ := directory.Unrotated(name)
			return logName().MatchString(log)
		},
		Log: func(below string) (session.Ref, bool) {
			agent, name, _ := strings.Cut(below, "/")
			chat := logName().FindStringSubmatch(name)
			if chat == nil {
				return session.Ref{}, false
			}
			return session.Ref{
				Runtime: session.RuntimeAnnabelle, Agent: session.CleanID(agent), ID: session.CleanID(chat[1]), Key: chat[1], Kind: session.KindLive,
			}, true
		},
	}
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	return s.places().Place(ctx, path, now)
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
