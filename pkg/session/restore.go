package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// ErrElsewhere is returned by [Restorer].Place when a path is not below the
// store's root.
var ErrElsewhere = errors.New("not in this store")

// Place is where an archived log can be put back, and what is known of it. It
// is data: holding one keeps nothing open.
type Place struct {
	// Path is where the log goes, absolute. A name that only this tool gives
	// to logs which it has moved aside stands for the log's own name.
	Path string
	// Ref is the log at Path as far as the name and the runtime's index tell,
	// with its size if there is one. What is archived before it is replaced is
	// archived as this.
	Ref Ref
	// Aside and Spare are free names in the same directory that the runtime
	// does not take for a log that is in use.
	Aside, Spare string
	// There says that there is a file at Path.
	There bool
	// Like is a file whose mode and owner a new log gets: its neighbours';
	// nil if it has none.
	Like os.FileInfo
	// Note says what a person should know about a log that is put back here
	// ("the index names another session"), or "".
	Note string
	// Orphan is true when the runtime's index would not name the log.
	Orphan bool
	// Owned is true where only the runtime changes its logs: one is put back
	// where none is, and never in the place of another.
	Owned bool
}

// Restorer is a store into which an archived log can be put back.
type Restorer interface {
	// Place says how a log would be put at a path. It changes nothing and may
	// be asked about a directory that does not exist yet. [ErrElsewhere] is
	// returned for a path outside of the store, [ErrUnsupported] for one in it
	// where no log can be, and when what is there cannot be a log (a link, a
	// directory, a file with several names).
	Place(ctx context.Context, path string, now time.Time) (Place, error)
	// Unused returns a [*BusyError] when somebody may be writing the log at a
	// path: a live lock, or a change within quiet. Unlike [Rotator].Busy it
	// does not look at what is in the log: a damaged one can be replaced.
	Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error
}

// Recorder is a store whose runtime keeps a record of what is in a log beside
// it, and not in an index that a rotation points elsewhere.
type Recorder interface {
	// Record makes that record say what the log says that was put back at
	// live. before is what it said before a rotation that is reversed
	// ([Rotation].Before); with nil it is made anew from the log. It is safe to
	// repeat.
	Record(ctx context.Context, live string, before []IndexEntry) error
}

// Successor is a store in which a rotated session is gone on with in another
// log than the one at its place.
type Successor interface {
	// Succeeded returns a [*NewerError] if the runtime has begun another log
	// of the same conversation since a rotation.
	Succeeded(ctx context.Context, r Rotation) error
}

// Begins reports whether the bytes of an open log begin with those of the
// snapshot: they are the same, or lines were added since.
func (s Snapshot) Begins(ctx context.Context, f *os.File) (bool, error) {
	sum, err := hashBytes(ctx, f, s.Size)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the log: %w", err)
	}
	return sum == s.SHA256, nil
}
