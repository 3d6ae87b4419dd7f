package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
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

// Keep says how much of a session's end stays when it is made shorter. Zero in
// all means that nothing stays but the summary.
type Keep struct {
	Tokens  int64 // at least this many, estimated
	Turns   int   // this many last turns, each of which begins with a person's message
	Records int   // this many last records, where a record is a turn
}

// Cut says which messages of a session a summary takes the place of, and which
// stay. Only the context counts: what an earlier compaction has put away and
// what lies on abandoned branches is neither.
type Cut struct {
	// From is the ordinal of the first message that is summed up: the first one
	// that the compaction before this one kept. Starting any later would leave
	// that tail in neither summary (docs/dev/decisions.md D17).
	From int `json:"from"`
	// FirstKept is the ordinal of the first message that stays, and one more
	// than the last message's if none stays.
	FirstKept int    `json:"first_kept"`
	KeptID    string `json:"kept_id,omitempty"` // of the record of that message
	KeptLine  int    `json:"kept_line,omitempty"`
	KeptByte  int64  `json:"kept_byte,omitempty"` // where that record begins
	LastID    string `json:"last_id,omitempty"`   // of the last message's record

	// SplitTurn says that a turn began before the cut and goes on after it.
	SplitTurn bool `json:"split_turn,omitempty"`

	Summarized       int   `json:"summarized"` // messages
	SummarizedTokens int64 `json:"summarized_tokens"`
	Kept             int   `json:"kept"`
	KeptTokens       int64 `json:"kept_tokens"`

	Previous        bool  `json:"previous,omitempty"` // a summary of an earlier compaction is fed forward
	PreviousOrdinal int   `json:"previous_ordinal,omitempty"`
	PreviousTokens  int64 `json:"previous_tokens,omitempty"`
}

// Summarizes reports whether a message is one that the summary takes the place
// of, the summary of the compaction before included.
func (c Cut) Summarizes(m *Message) bool {
	switch {
	case m.Branch != Active || m.OutOfContext:
		return false
	case m.Compaction:
		return c.Previous && m.Ordinal == c.PreviousOrdinal
	}
	return c.From <= m.Ordinal && m.Ordinal < c.FirstKept
}

// Summed is the summary that takes the place of what is cut away.
type Summed struct {
	Text          string   `json:"text"`
	Kind          string   `json:"kind"`
	ReadFiles     []string `json:"read_files"`        // of all compactions so far, sorted
	ModifiedFiles []string `json:"modified_files"`    // the same; never also in ReadFiles
	Lessons       []string `json:"lessons,omitempty"` // what should be done, or never again; one line each
}

// ShortenRequest is what a store needs to plan a change.
type ShortenRequest struct {
	Ref      Ref
	Snapshot Snapshot
	Cut      Cut
	Summary  Summed
	Tokens   int64 // in the context before
	Now      time.Time
}

// Shortening is the plan of such a change: plain data that is written to the
// journal before anything changes, so that a later run can finish it. Of the
// Rotation in it, Kept is where the old log's inode goes, or "" if the log is
// only appended to.
type Shortening struct {
	Rotation
	Cut     Cut    `json:"cut"`
	Summary Summed `json:"summary"`
	// Record is the line, with its line feed, that an overlay appends.
	Record string `json:"record,omitempty"`
	// After is the log as it is when a rewrite is done.
	After LogProof `json:"after,omitzero"`
	// Cleared is true for a rewrite after which there is no log any more, and
	// so no summary in it.
	Cleared bool `json:"cleared,omitempty"`
}

// LogProof pins the bytes of a log.
type LogProof struct {
	Size   int64  `json:"size_bytes"`
	SHA256 string `json:"sha256"`
	// Added is the SHA-256 of the record that was appended, where that is all
	// that has changed; SHA256 is "" then.
	Added string `json:"added_sha256,omitempty"`
}

// Shortener carries a Shortening out. It checks that the log still is the
// snapshot; one that changed is a [*BusyError] and nothing is changed. Steps
// that are done already are recognised and skipped, so it may be repeated
// after a crash.
type Shortener interface {
	Shorten(ctx context.Context, s Shortening) error
}

// Overlayer is a store that makes a session shorter by appending one record
// to its log: every byte that was there stays there.
type Overlayer interface {
	Shortener
	// PlanOverlay says what Shorten would append. It changes nothing. It
	// returns an error that wraps [ErrUnsupported] for a session that cannot
	// take such a record.
	PlanOverlay(ctx context.Context, request ShortenRequest) (Shortening, error)
}

// Rewriter is a store whose runtime itself replaces older turns by a summary
// record. The new log takes the old one's place in one step; what stays of it
// stays byte for byte.
type Rewriter interface {
	Shortener
	// PlanRewrite says what Shorten would write. It changes nothing. It
	// returns an error that wraps [ErrUnsupported] for a session that cannot
	// be rewritten.
	PlanRewrite(ctx context.Context, request ShortenRequest) (Shortening, error)
}

// ErrNothingToTrim is returned by [Trimmer.PlanTrim] when the runtime needs all of
// a log, or nearly all, to go on with the session.
var ErrNothingToTrim = errors.New(ReasonNothingToTrim.Text())

// Trimmer is a store whose logs hold more than their runtime needs to go on with
// a session. The new log takes the old one's place in one step; what stays of it
// stays byte for byte, in its order.
type Trimmer interface {
	Shortener
	// PlanTrim says what Shorten would write; Cut and Summary of the request and
	// of the plan mean nothing. It changes nothing. It returns [ErrNothingToTrim],
	// wrapped, and an error that wraps [ErrUnsupported] for a session that cannot
	// be trimmed.
	PlanTrim(ctx context.Context, request ShortenRequest) (Shortening, error)
}

// Learner is a store whose runtime keeps what was learned apart from its
// sessions, for every later one.
type Learner interface {
	// LessonsFile returns the path of the list that a session's lessons go to.
	LessonsFile(ref Ref) string
}

// Trigger is a store whose runtime does not go by the size of the context
// alone, or by another size.
type Trigger interface {
	// Due reports whether a session is due for a compaction now, and why not,
	// for people.
	Due(ctx context.Context, q DueQuestion) (due bool, reason string, err error)
}

// DueQuestion is what a Trigger is asked.
type DueQuestion struct {
	Ref       Ref
	Tail      Tail
	Now       time.Time
	Requested bool // the session or its agent was named: it is not a run over everything
	// Asked says that a size in tokens was asked for, which takes the place of
	// all that the runtime itself goes by: only a session in which there is
	// nothing new is not due then. The size is not the trigger's to look at.
	Asked bool
}

// Undo is the plan to reverse a rotation: plain data that is written to
// the journal before anything changes, so that a later run can finish it.
type Undo struct {
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

// UndoOptions say how a rotation may be reversed.
type UndoOptions struct {
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
	// Deleted is the archive of its log where that was deleted since, else "".
	Deleted string
	// Compacted is the receipt of a later compaction of it that was not undone, else "".
	Compacted string
}

// Error implements error.
func (e *NewerError) Error() string {
	what := "session " + e.Session + " has taken its place"
	switch {
	case e.Compacted != "":
		return "session " + e.Session + " was compacted again since (" + e.Path + ")"
	case e.Deleted != "":
		return "session " + e.Session + " had gone on when its log was deleted (" + e.Path + ", archive " + e.Deleted + ")"
	case e.GoneOn:
		return "session " + e.Session + " has gone on since (" + e.Path + ")"
	case e.Path == "":
		return what
	}
	return what + " and has messages (" + e.Path + ")"
}

// Undoer is a store that can reverse a rotation. Both methods are safe to
// repeat after a crash.
type Undoer interface {
	// PlanUndo says what Undo would do. It changes nothing. Besides
	// a [*NewerError] and a [*BusyError] it returns an error that wraps
	// [ErrUnsupported] when the rotation cannot be reversed any more.
	PlanUndo(ctx context.Context, r Rotation, o UndoOptions) (Undo, error)
	// Undo carries a plan out: the old log is at its place again, and the
	// runtime continues it. archived writes the old log's bytes; it fails
	// rather than write others. Steps that are done are recognised and
	// skipped. After a [*BusyError] without Begun everything is as it was
	// before the first call.
	Undo(ctx context.Context, u Undo, archived func(w io.Writer) error) error
}

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

// IsBusy is the question whether somebody is writing the session that followed. A
// turn without an end is never taken for broken off: what is carried would stand
// behind a question that it does not answer, and it can wait.
func (q CarryRequest) IsBusy(ref Ref) BusyQuestion {
	return BusyQuestion{Ref: ref, Now: q.Now, Quiet: q.Quiet, LongestTurn: math.MaxInt64}
}

// Carrying is the plan to carry late records.
type Carrying struct {
	Shortening
	Records int `json:"records"`  // that are appended
	Known   int `json:"known"`    // that the log has already
	LeftOut int `json:"left_out"` // lines that are no records which could be carried
}

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
	// Kept and SecondKept are free names in the same directory that the runtime
	// does not take for a log that is in use.
	Kept, SecondKept string
	// Blank says that nothing has been said in the log at Path: it may be
	// replaced without being asked about.
	Blank bool
	// There says that there is a file at Path.
	There bool
	// Like is a file whose mode and owner a new log gets: its neighbours';
	// nil if it has none.
	Like os.FileInfo
	// In is the directory of Path as it was looked at; nil if it is not there yet,
	// or if nothing is known of it.
	In os.FileInfo
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
	// path: a live lock, or a change within quiet. Unlike [Liveness].Busy it
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
