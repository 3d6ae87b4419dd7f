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
	// Holds reports whether a database lies where those of the store do.
	Holds(database string) bool
	// Accepts returns why the rows of logs cannot be put back, as far as that can be
	// told without doing it. next is that of Deposit.
	Accepts(ctx context.Context, database string, next func() (io.ReadCloser, error)) error
	// Deposit puts the rows of logs back, all or nothing, and returns how many
	// were missing. next opens the logs one after the other and ends with io.EOF.
	Deposit(ctx context.Context, database string, next func() (io.ReadCloser, error)) (rows int, err error)
	// Belonging returns what the line of a session's log names that belongs to the
	// session and is archived by itself.
	Belonging(line []byte) Belonging
}

// Belonging is what belongs to a session and is archived by itself.
type Belonging struct {
	Sessions []string // the ids of the sessions that its agents have begun
	// Events is how many events its journal had when the log was written, and
	// LastEvent the id of the last one; 0 for a line that tells of no journal.
	Events    int64
	LastEvent string
}

// DatabaseWeight is what a database holds.
type DatabaseWeight struct {
	Path     string // of the database
	Sessions []Weight
	// Program is the name of the runtime's own program, if that is what removes
	// sessions and makes the database smaller; "" if the store does so itself.
	Program string
	// OnlyDeleted says that no session lies in it: what can be taken out are rows of
	// sessions that the runtime's own delete has left there.
	OnlyDeleted bool
	// Err is why nothing is known of it, and nothing is taken out; nil if it was read.
	Err error
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
	// Deleted is how many rows there are of a session that is gone already; Ref
	// stands for these rows. 0 for a session that is there.
	Deleted int
	// Files are what goes with the session beside the database.
	Files []Ref
	// From is when the age of the session begins as the runtime's program counts it;
	// zero for Ref.ModTime.
	From time.Time
}

// Since is when the age of the session begins.
func (w Weight) Since() time.Time {
	if w.From.IsZero() {
		return w.Ref.ModTime
	}
	return w.From
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
	Deleted  int      // sessions that were gone before, of which rows were removed
	Rows     int      // of these sessions
	Gone     []string // sessions that were gone already
	Vacuumed bool
}

// DeletedLister is a store that finds what its runtime's own delete has left of
// sessions.
type DeletedLister interface {
	// Deleted looks at every database in which that may be. It changes nothing.
	Deleted(ctx context.Context) ([]DeletedRows, error)
}

// DeletedRows are the rows of a database that belong to sessions that are gone.
type DeletedRows struct {
	Database       string
	Sessions, Rows int
	Bytes          int64 // of what they say
	Err            error // why it is not known, or nil
}
