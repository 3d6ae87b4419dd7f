package session

import (
	"context"
	"time"
)

// MaxCarry is how many bytes of late records are carried at most: about the
// tokens at which a session is compacted. A tail that is longer would make the
// session that followed as large as the one before, and stays in the archive.
const MaxCarry = 512 << 10

// Carrier is a store in which records that reached an old log after it was
// rotated away can become part of the session that followed. They are appended
// to its log by Shorten, as a record of a compaction is.
type Carrier interface {
	Shortener
	// PlanCarry says what Shorten would append, and to which log; a plan
	// without a Record has nothing to do. It changes nothing.
	//
	// The bytes of a record stay as they are but for what says where in the
	// session it stands: in a log that is a tree a record whose parent is not
	// carried with it hangs on the log's last entry, because otherwise the way
	// from the last entry to the root would pass by what the session has.
	// Records that the log has already are not added again, so that it may be
	// repeated.
	//
	// It returns a [*BusyError] when somebody may be writing that log or the
	// session that followed has not begun yet, and an error that wraps
	// [ErrUnsupported] when nothing can be carried.
	PlanCarry(ctx context.Context, request CarryRequest) (Carrying, error)
}

// CarryRequest is what a store needs to carry late records.
type CarryRequest struct {
	Rotation Rotation // by which the old log was moved aside
	Tail     []byte   // whole lines, at most [MaxCarry] bytes
	Now      time.Time
	Quiet    time.Duration // how long the other log must have been untouched
}

// Carrying is the plan to carry late records.
type Carrying struct {
	Shortening
	Records int `json:"records"`  // that are appended
	Known   int `json:"known"`    // that the log has already
	LeftOut int `json:"left_out"` // lines that are no records which could be carried
}
