package session

import "context"

// Family is a store whose sessions have files beside their log that go with
// it: run traces, metadata.
type Family interface {
	// Companions returns the paths of the files that belong to this session
	// and to no other one that stays, without its log.
	Companions(ctx context.Context, ref Ref) ([]string, error)
}

// Parent is a store some of whose agents were started by others, each in a
// directory of its own that is thrown away as a whole (seed 000, Subagent
// Sessions).
type Parent interface {
	// ParentOf returns the agent that started this one, ok is false for one
	// that nobody has.
	ParentOf(agent string) (parent string, ok bool)
}
