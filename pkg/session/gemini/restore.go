package gemini

import (
	"context"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// places says where the chats of this runtime lie. Gemini owns them: one that
// is gone can come back, and one that is there is never replaced.
func (s *Store) places() directory.Places {
	return directory.Places{Base: s.base, Depth: deepest, Store: s.root, Owned: true, Log: placed}
}

// placed reads the place of a chat, or of a sub-agent's.
func placed(below string) (session.Ref, bool) {
	parts := strings.Split(below, "/")
	name := parts[len(parts)-1]
	stem := strings.TrimSuffix(strings.TrimSuffix(name, ".jsonl"), ".json")
	ref := session.Ref{Runtime: session.RuntimeGemini, Agent: session.CleanID(parts[0]), ID: session.CleanID(stem), Kind: session.KindLive}
	switch {
	case len(parts) < 3 || parts[1] != chatsName:
		return ref, false
	case len(parts) == 3:
		return ref, chatName().MatchString(name)
	}
	ref.Kind = session.KindTopic
	return ref, len(parts) == 4 && session.SafeID(parts[2]) && subChatName().MatchString(name)
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	return s.places().Place(ctx, path, now)
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
