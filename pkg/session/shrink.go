package session

import (
	"context"
	"io"
	"time"
)

// Shrinker is a store whose sessions lie in databases that can be made smaller
// by what is archived.
type Shrinker interface {
	// Weigh says of each database of the store what could be taken out of it. It
	// changes nothing, and may read all of them.
	Weigh(ctx context.Context) ([]DatabaseWeight, error)
	// Shrink takes out what is proved to be archived, all or nothing, and gives
	// the room back. It returns a [*BusyError], and has changed nothing, if a
	// program has the database open or if anything is not what its proof says.
	// It may be repeated: what is gone already is passed over.
	Shrink(ctx context.Context, s Shrink) (Shrunk, error)
}

// Depositor is a store that puts archived rows back into its databases.
type Depositor interface {
	// Deposit puts the rows of logs back, all or nothing, and returns how many
	// were missing. next opens the logs one after the other and ends with io.EOF.
	Deposit(ctx context.Context, database string, next func() (io.ReadCloser, error)) (rows int, err error)
	// Family returns what the line of a session's log names that belongs to the
	// session: the ids of the sessions that its agents have begun.
	Family(line []byte) []string
}

// DatabaseWeight is what a database holds.
type DatabaseWeight struct {
	Path     string // of the database
	Sessions []Weight
	// Program is the name of the runtime's own program, if that is what removes
	// sessions and makes the database smaller; "" if the store does so itself.
	Program string
}

// Weight is what could be taken out of a session.
type Weight struct {
	Ref     Ref
	Journal Ref // what [LogSource] writes the session's journal out by; Path "" if it has none
	// Superseded events have a newer one of the same object.
	Superseded      int
	SupersededBytes int64
	// Kept says why nothing may be taken out of the session, "" if it may.
	Kept string
	// Secure says that the session must be archived before anything is removed,
	// whatever its age: which ones go is decided by the runtime's program.
	Secure bool
	// Files are what goes with the session beside the database.
	Files []Ref
}

// ShrinkProof names a session, or its journal, by the hashes of what is archived
// of it, in hexadecimal. Journal is "" for a session without one.
type ShrinkProof struct {
	Session string
	Log     string
	Journal string
}

// Shrink is what is to be taken out of a database.
type Shrink struct {
	Database string
	Sessions []ShrinkProof // as a whole, with their journals
	Journals []ShrinkProof // only superseded events; Log is ""
	Vacuum   bool          // gives the room back to the file system
	Now      time.Time
	// OlderThan is how long nobody must have used a session that the runtime's
	// program is asked to remove; 0 if it is not asked to. Files are the hashes of
	// files that are archived, by path.
	OlderThan time.Duration
	Files     map[string]string
}

// ProgramError is returned by a store whose runtime's own program makes its
// databases smaller, when that is not there, or has failed. Commands are what a
// person can type.
type ProgramError struct {
	Program  string
	Commands []string
	Err      error
}

// Error implements error.
func (e *ProgramError) Error() string { return e.Program + ": " + e.Err.Error() }

// Unwrap returns what went wrong.
func (e *ProgramError) Unwrap() error { return e.Err }

// Shrunk is what was taken out.
type Shrunk struct {
	Sessions int
	Events   int
	Gone     []string // sessions that were gone already
	Vacuumed bool
}
