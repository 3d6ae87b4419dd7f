package session

import (
	"context"
	"io"
	"time"
)

// Unrotation is the plan to reverse a rotation: plain data that is written to
// the journal before anything changes, so that a later run can finish it.
type Unrotation struct {
	// Rotation is the one that is reversed, with one difference: NewSession is
	// the session that the runtime's index names now.
	Rotation Rotation `json:"rotation"`
	// From is where the old log's inode lies: its kept name, or its own name
	// if it has been put back already. "" if its bytes come from the archive.
	From string `json:"from,omitempty"`
	// Before is what the entries of Rotation.Keys say now, without those that
	// are gone.
	Before []IndexEntry `json:"before,omitempty"`
	// Fresh is the log of the session that took the old one's place, which has
	// no messages, and FreshKept is the name under which it is closed; "" if
	// there is none.
	Fresh         string    `json:"fresh,omitempty"`
	FreshKept     string    `json:"fresh_kept,omitempty"`
	FreshSnapshot Snapshot  `json:"fresh_snapshot,omitzero"`
	At            time.Time `json:"at"`
}

// UnrotateOptions say how a rotation may be reversed.
type UnrotateOptions struct {
	Now   time.Time
	Quiet time.Duration // how long what takes part must have been untouched
	// Force reverses it although the runtime has gone on. Logs that are in the
	// way are a [*NewerError] nevertheless: they must be put away first.
	Force bool
}

// NewerError is returned when the runtime has gone on since a rotation, so that
// reversing it would take a newer conversation's place.
type NewerError struct {
	// Path is the log of that conversation, or "" if it has none yet.
	Path string
	// Session is its id.
	Session string
	// Messages counts what was said in it.
	Messages int
	// GoneOn is true when it is the same conversation, which has gone on.
	GoneOn bool
}

// Error implements error.
func (e *NewerError) Error() string {
	what := "session " + e.Session + " has taken its place"
	switch {
	case e.GoneOn:
		return "session " + e.Session + " has gone on since (" + e.Path + ")"
	case e.Path == "":
		return what
	}
	return what + " and has messages (" + e.Path + ")"
}

// Unrotator is a store that can reverse a rotation. Both methods are safe to
// repeat after a crash.
type Unrotator interface {
	// PlanUnrotation says what Unrotate would do. It changes nothing. Besides
	// a [*NewerError] and a [*BusyError] it returns an error that wraps
	// [ErrUnsupported] when the rotation cannot be reversed any more.
	PlanUnrotation(ctx context.Context, r Rotation, o UnrotateOptions) (Unrotation, error)
	// Unrotate carries a plan out: the old log is at its place again, and the
	// runtime continues it. archived writes the old log's bytes; it fails
	// rather than write others. Steps that are done are recognised and
	// skipped. After a [*BusyError] without Begun everything is as it was
	// before the first call.
	Unrotate(ctx context.Context, u Unrotation, archived func(w io.Writer) error) error
}
