package session

import "context"

// Family is a store whose sessions have files beside their log that go with
// it: run traces, metadata.
type Family interface {
	// Companions returns the paths of the files that belong to this session
	// and to no other one that stays, without its log.
	Companions(ctx context.Context, ref Ref) ([]string, error)
}
