package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// ErrBusy is returned when a session must be left alone for now: an agent is
// or may be writing it. The caller reports it and tries again later.
var ErrBusy = errors.New("session is busy")

// ErrUnknownFormat is returned when a file is not a session log that the
// store can read. Nothing of it is indexed.
var ErrUnknownFormat = errors.New("not a known session format")

// ErrUnsupported is returned when a store never changes this session: a log of
// a format newer than this tool, a log that the runtime has closed, a database.
var ErrUnsupported = errors.New("this session cannot be changed")

// BusyError says how a writer was noticed. It unwraps to [ErrBusy].
type BusyError struct {
	Path   string
	Reason string
	// Begun is true when an earlier run has already pointed the runtime's
	// index at the fresh session, and only the move of the old log is left:
	// the rotation must be tried again, not forgotten.
	Begun bool
	// Served is true when nothing is in the way but that the runtime itself
	// runs: it can be asked instead (see [Resetter]).
	Served bool
	// Change says what has become of a log that was read before, where that is
	// the reason. A log that only grew can be followed.
	Change Change
}

// Error implements error.
func (e *BusyError) Error() string { return e.Path + ": " + e.Reason }

// Unwrap returns [ErrBusy].
func (e *BusyError) Unwrap() error { return ErrBusy }

// Store is one root of one runtime. What is here reads and changes nothing;
// what may be changed, and what else is known, is in its [Capabilities].
type Store interface {
	// Runtime returns the runtime's name.
	Runtime() string
	// Root returns the absolute path the store was opened with.
	Root() string
	// Capabilities returns what the store can do besides listing and reading.
	// It opens nothing and asks nobody.
	Capabilities() Capabilities
	// List finds the sessions of the store by an allow-list of names. Files
	// that look like sessions but cannot be used are notices, not errors.
	List(ctx context.Context) (Listing, error)
	// Tail reads the end of a session's log: its context size and whether
	// its last turn is answered. It reads backwards and stops early.
	Tail(ctx context.Context, ref Ref) (Tail, error)
	// Scan reads a whole log and hands every message to emit, in file order.
	Scan(ctx context.Context, r io.Reader, o ScanOptions, emit func(*Message) error) (Scan, error)
}

// Adviser is a store whose sessions only their runtime changes.
type Adviser interface {
	// OwnCommand returns the command with which a person makes a session
	// small in the runtime itself ("/compact").
	OwnCommand(ref Ref) string
}

// ScanOptions bound a scan.
type ScanOptions struct {
	// Tree is what an earlier scan of the same bytes returned. Without it
	// every message is emitted as active, which is right for a log without
	// forks; a caller that finds Scan.Tree.Forked scans again with the tree.
	Tree *Tree
	// Thinking asks for PartThinking parts; they are skipped otherwise.
	Thinking bool
	// Details asks for [Message.Details].
	Details bool
}

// Scan is what a scan saw.
type Scan struct {
	Counts    jsonl.Counts
	Tree      *Tree
	SessionID string // as the header gives it, or ""
	Version   int    // of the format, as the header gives it
	Headers   int    // header records: 0 is a fragment, more than 1 are logs in one file
	Messages  int    // emitted: everything that is said, summaries and injected texts included
	Records   int    // records of the runtime's message type, repeated ones included: what sizes counts
	// ResetLine is the line of the last record on the active branch after which
	// the runtime's context is empty (OpenClaw's "reset", since 2026.9), or 0.
	ResetLine int
	Repeated  int            // not emitted, because they say again what another message says (see Repeats)
	ByRole    [8]int         // emitted messages by Role
	Unknown   map[string]int // records of unknown type, by type
	Doubt     Doubt          // the first of them that may change the context, see [Scan.Meet]
	// DoubtSince has the records of the active branch after Doubt, by recordKey.
	DoubtSince map[uint64]bool
	Carriage   Carriage
	ToolCalls  int
	CutBytes   int64 // text left out of over-long strings
	LeftOut    int64 // bytes of images and other binary data left out, and Message.LeftOut
	First      int64 // epoch milliseconds of the first and last message
	Last       int64
}

// Tail is what the end of a log says.
type Tail struct {
	Tokens        int64  // context size, see TokenSource
	TokenSource   string // TokensFromUsage or TokensFromEstimate
	Messages      int    // in the whole log if MessagesExact, else estimated from the tail
	MessagesExact bool
	LastRole      Role
	// Answered is true when the last turn on the active branch is complete:
	// the last message is an assistant's that ended by itself or in an
	// error, with no tool call left open.
	Answered     bool
	LastActivity time.Time // time of the last record, clamped to the file's
	LastRecord   time.Time // time of the last record as it says itself; zero if it says none
	Torn         bool      // the last line has no line feed and is not a whole record
	// ContextWindow is that of the model as the log tells it, in tokens; 0 if it
	// does not.
	ContextWindow int
}

// SetLast sets the times of the last record: ms is what it says itself, in
// milliseconds of the epoch, 0 if it says nothing. A file is not used after it
// was changed last, so that LastActivity is not later than modTime.
func (t *Tail) SetLast(ms int64, modTime time.Time) {
	t.LastActivity, t.LastRecord = modTime, time.Time{}
	if ms == 0 {
		return
	}
	t.LastRecord = time.UnixMilli(ms).UTC()
	if modTime.IsZero() || t.LastRecord.Before(modTime) {
		t.LastActivity = t.LastRecord
	}
}

// Where a token count comes from (docs/dev/decisions.md D4).
const (
	TokensFromUsage    = "usage"    // the last model call's own count plus an estimate of what follows
	TokensFromEstimate = "estimate" // an estimate of everything
)

// Snapshot pins the bytes of a log that a run works on.
type Snapshot struct {
	Path    string    `json:"path"`
	Device  uint64    `json:"device"`
	Inode   uint64    `json:"inode"`
	Size    int64     `json:"size_bytes"`
	ModTime time.Time `json:"mod_time"`
	Changed time.Time `json:"changed_time"` // ctime where the system has one
	SHA256  string    `json:"sha256"`       // hex, of exactly Size bytes
}

// Rotation is the plan of a rotation: plain data that is written to the
// journal before anything changes, so that a later run can finish it.
type Rotation struct {
	Runtime string   `json:"runtime"`
	Agent   string   `json:"agent"`
	Session string   `json:"session"`
	Store   string   `json:"store"`
	Live    string   `json:"live"`            // path of the log
	Kept    string   `json:"kept"`            // where the log's inode goes, same directory
	Index   string   `json:"index,omitempty"` // the runtime's index, if it has one
	Keys    []string `json:"keys,omitempty"`  // entries of the index that name the session
	// Before is what the entries of Keys said when the rotation was planned,
	// in the same order: an entry that says anything else when it is about to
	// be changed makes the session busy. A runtime without an index has at most
	// one, without a session: what it keeps beside the log (see [Recorder]).
	Before     []IndexEntry `json:"before,omitempty"`
	NewSession string       `json:"new_session,omitempty"` // id that the index names from now on
	// Fresh is the whole log that takes the old one's place, "" if none does: a
	// runtime that goes on with what it finds in a directory needs one there.
	Fresh    string    `json:"fresh,omitempty"`
	At       time.Time `json:"at"`
	Snapshot Snapshot  `json:"snapshot"`
}

// IndexEntry is what one entry of a runtime's index said.
type IndexEntry struct {
	Key       string `json:"key"`
	Session   string `json:"session"`
	UpdatedAt string `json:"updated_at"` // as the index writes it, or ""
	// Reset is a JSON object of the fields that the rotation may reset or drop,
	// as they were: a rotation that is reversed brings them back. "" for none.
	Reset string `json:"reset,omitempty"`
	// Complete says that Reset has every field of the entry: one that is too long is
	// left out.
	Complete bool `json:"complete,omitempty"`
}

// Known is the entry without what only an undo needs: what tells whether it has
// changed.
func (e IndexEntry) Known() IndexEntry {
	e.Reset, e.Complete = "", false
	return e
}

// Rotator is a store whose sessions can start fresh while the old log stays
// in an archive. All methods are safe to repeat after a crash.
type Rotator interface {
	// PlanRotation says what Rotate would do. It changes nothing. It returns
	// an error that wraps [ErrUnsupported] for a session that Rotate would
	// refuse, and a [*BusyError] when the runtime's index has changed since
	// the session was listed.
	PlanRotation(ctx context.Context, ref Ref, snap Snapshot, now time.Time) (Rotation, error)
	// Rotate carries a rotation out: it checks that the log still is the
	// snapshot, points the runtime's index at a fresh session and moves the
	// log's inode to Kept. Steps already done are recognised and skipped. A
	// log that changed is a [*BusyError] and nothing is changed.
	Rotate(ctx context.Context, r Rotation) error
}

// LogSource is a store with sessions that are not files ([KindStored]): it
// writes a session's log out when it is asked, one JSON object a line, always
// the same bytes for the same session. The Path of its references names a
// session for people and is not opened.
type LogSource interface {
	// OpenLog starts to read the log of a session. A [*BusyError] or an error
	// that wraps fs.ErrNotExist is returned for one that is not there any more.
	OpenLog(ctx context.Context, ref Ref) (io.ReadCloser, error)
}

// Annotator is a store in which a summary is written beside the messages, and
// nothing is ever deleted.
type Annotator interface {
	// PlanAnnotation says what Annotate would write. It changes nothing.
	PlanAnnotation(ctx context.Context, request ShortenRequest) (Annotation, error)
	// Annotate writes it. A session that has got messages since the snapshot
	// is a [*BusyError] and nothing is changed. It may be repeated.
	Annotate(ctx context.Context, a Annotation) error
}

// Annotation is the plan of a summary beside the messages: plain data that is
// written to the journal before anything changes.
type Annotation struct {
	Runtime string    `json:"runtime"`
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Store   string    `json:"store"`
	Live    string    `json:"live"` // the reference's path
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
	Proof   LogProof  `json:"proof"` // of the log as [LogSource] writes it
}

// RecentChange is how long after a change a listing shows a session as busy.
// Whether it may be changed is asked for with [Liveness].Busy and a quiet
// period of the caller's.
const RecentChange = time.Minute

// CheckQuiet returns a [*BusyError] when a log was changed less than quiet
// before or after now: a clock that is a little off must not make a busy
// session idle.
func CheckQuiet(path string, info os.FileInfo, now time.Time, quiet time.Duration) error {
	age := now.Sub(info.ModTime())
	if age.Abs() >= quiet {
		return nil
	}
	why := ReasonRecent
	if age < 0 {
		why = ReasonRecentFuture
	}
	return &BusyError{Path: path, Reason: why.Text(inWords(age.Abs()), inWords(quiet))}
}

// CheckIdle returns a [*BusyError] for a session in a database that was changed
// less than quiet before or after now.
func CheckIdle(path string, changed, now time.Time, quiet time.Duration) error {
	if now.Sub(changed).Abs() >= quiet {
		return nil
	}
	return &BusyError{Path: path, Reason: ReasonJustSaid.Text()}
}

// OnePerDatabase returns one of the sessions of each database that some of refs lie
// in. file returns the database of one.
func OnePerDatabase(refs []Ref, file func(Ref) string) (some []Ref) {
	seen := map[string]bool{}
	for _, ref := range refs {
		if path := file(ref); ref.Kind == KindStored && !seen[path] {
			seen[path] = true
			some = append(some, ref)
		}
	}
	return some
}

// inWords is a duration in whole seconds, or in milliseconds if it is short.
func inWords(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// CheckWhole returns a [*BusyError] when a log is empty or shorter than it was
// when it was listed. OpenClaw 2026.7.1 truncates a transcript and writes it
// again in place at the end of every turn, so such a file is not damaged but
// about to be whole again (docs/dev/formats.md, "openclaw").
func CheckWhole(ref Ref, info os.FileInfo) error {
	switch {
	case info.Size() == 0:
		return &BusyError{Path: ref.Path, Reason: ReasonEmpty.Text(), Change: ChangeShorter}
	case info.Size() < ref.Bytes:
		return &BusyError{Path: ref.Path, Reason: ReasonShrunk.Text(ref.Bytes, info.Size()), Change: ChangeShorter}
	}
	return nil
}

// LineBreak is what must stand before a record that is appended to a log of this
// size: a line feed if the last line has none. After a power cut there can be NULs
// in the place of an earlier record, and a runtime that reads line by line would
// lose what follows them on their line.
func LineBreak(log io.ReaderAt, size int64) (string, error) {
	var last [1]byte
	if size == 0 {
		return "", nil
	}
	if _, err := log.ReadAt(last[:], size-1); err != nil {
		return "", fmt.Errorf("read the end of the log: %w", err)
	}
	if last[0] == '\n' {
		return "", nil
	}
	return "\n", nil
}

// RuntimeLock is a lock file that a runtime keeps beside its sessions. It is
// never removed by this tool.
type RuntimeLock struct {
	Path    string
	Process int       // that took it; 0 if the file does not say
	Alive   bool      // that process still runs, and is not another with its number
	Unseen  bool      // whether it runs cannot be told: it may be in another container or on another machine
	Since   time.Time // as the file says, else when it was written
	Stale   bool      // it does not count: its process is gone, or the lock is older than it can be
}

// Head is what a listing needs of the first records of a log.
type Head struct {
	ID        string    // as the header gives it
	Version   int       // of the format
	Time      time.Time // when the session began, zero if that is not known
	Found     bool      // whether there is a header at all
	Continued bool      // whether the runtime takes the file for a session that it continues
	Fragment  bool      // whether it begins with a record of the runtime that is no header
}

// CachedTail is what one look at a log told: enough to list it, and the size of
// its context.
type CachedTail struct {
	Head  Head // of runtimes whose listing reads it
	Tail  Tail
	Name  Name
	Named bool // the name was looked for
	// Refused is why its records are against a change that keeps a part of them.
	Refused string
	Judged  bool // that was looked for
}

// TailCache remembers what was seen of logs that have not changed since. A store
// that is given one opens every log once, where listing it and reading its end
// would open it twice.
type TailCache interface {
	// Find returns what is known of the log at path. info is what os.Lstat
	// says of it now. It returns false if nothing is known, or if the log may
	// have changed in any way.
	Find(path string, info os.FileInfo) (CachedTail, bool)
	// Keep takes in what was seen of the log at path while it was what info
	// says. log is the open log; it is not used after Keep returns.
	Keep(path string, info os.FileInfo, log io.ReaderAt, seen CachedTail)
}

// Spread calls do once for each number from 0 to n-1, on as many goroutines as
// there are workers, of which each has its own number from 0 on. With one worker
// the calls come one after the other, in order, on the caller's goroutine. It
// returns when all calls have returned, and begins none after ctx has ended:
// then it returns the context's error.
//
// What the calls find belongs under their number, so that the outcome does not
// depend on who was faster. A call that panics ends the others after what they are
// at, and Spread panics on the caller's goroutine, where somebody may have a
// terminal to put in order.
func Spread(ctx context.Context, workers, n int, do func(worker, i int)) error {
	var next atomic.Int64
	work := func(worker int) {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			do(worker, i)
		}
	}
	if workers = min(workers, n); workers <= 1 {
		work(0)
		return ctx.Err()
	}
	var all sync.WaitGroup
	var panicked atomic.Pointer[string]
	for worker := range workers {
		all.Go(func() {
			defer func() {
				if cause := recover(); cause != nil {
					text := fmt.Sprintf("%v\n%s", cause, debug.Stack())
					panicked.Store(&text)
					next.Store(int64(n))
				}
			}()
			work(worker)
		})
	}
	all.Wait()
	if text := panicked.Load(); text != nil {
		panic(*text)
	}
	return ctx.Err()
}
