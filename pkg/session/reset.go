package session

import (
	"context"
	"time"
)

// ViaGateway says that the runtime started a session fresh because it was
// asked to, and ViaFiles that its files were changed.
const (
	ViaGateway = "gateway"
	ViaFiles   = "files"
)

// Resetter is a store whose runtime may be running as a service, the gateway,
// that starts a session fresh when it is asked. While it runs its files belong
// to it: [Liveness].Busy returns a [*BusyError] with Served set when nothing
// but that is in the way.
type Resetter interface {
	// PlanReset says which session Reset would start fresh. It changes and
	// asks nothing; Kept and NewSession are the runtime's to choose. It
	// returns a [*BusyError] when the runtime could not be asked or would not
	// do what is meant, and an error that wraps [ErrUnsupported] for a
	// session that is never rotated.
	PlanReset(ctx context.Context, ref Ref, snap Snapshot, now time.Time) (Rotation, error)
	// Reset asks the runtime and returns the rotation with Kept and
	// NewSession, as they are on disk then. A reset that is done already is
	// recognised. It returns a [*BusyError] when a turn is going on or the
	// log changed, and the runtime was not asked; any other error leaves it
	// open whether it did what it was asked to, which FindReset tells later.
	Reset(ctx context.Context, r Rotation) (Rotation, error)
	// FindReset looks for the traces of a reset: the runtime's index names
	// another session and the log has the name of a closed one. It asks and
	// changes nothing.
	FindReset(ctx context.Context, r Rotation) (done Rotation, ok bool, err error)
}

// GatewayError is returned when the running runtime was asked and gave no
// usable answer.
type GatewayError struct {
	Store string // root
	Err   error
	Hint  string // what a person can do, or ""
}

// Error implements error.
func (e *GatewayError) Error() string { return "ask the gateway of " + e.Store + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *GatewayError) Unwrap() error { return e.Err }
