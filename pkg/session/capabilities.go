package session

import (
	"context"
	"errors"
	"io"
	"time"
)

// Strategy says how a session is made small.
type Strategy string

// The strategies. Which of them a session can have depends on its runtime.
const (
	StrategyRotate  Strategy = "rotate"  // the session starts fresh; its whole log is in the archive
	StrategyOverlay Strategy = "overlay" // a summary record is appended; the log keeps every byte
	StrategyRewrite Strategy = "rewrite" // older turns are replaced by a summary; the old log is in the archive
	// StrategyTrim leaves out of the log what its runtime does not need to go on with
	// the session. The context stays what it is; the old log is in the archive.
	StrategyTrim Strategy = "trim"
	// StrategyAnnotate writes a summary beside the messages and deletes nothing.
	StrategyAnnotate Strategy = "annotate"
	// StrategyNone is for runtimes whose sessions only they may change: the
	// session is archived and remembered.
	StrategyNone Strategy = "none"
)

// Shortens reports whether a strategy keeps a tail of the session.
func (s Strategy) Shortens() bool { return s == StrategyOverlay || s == StrategyRewrite }

// Summarizes reports whether a strategy cannot do without a summary.
func (s Strategy) Summarizes() bool { return s.Shortens() || s == StrategyAnnotate }

// SummaryStyle is the form that a runtime's own summaries have, and so the form
// that a model is asked for.
type SummaryStyle string

// The styles of summaries.
const (
	StyleCheckpoint SummaryStyle = "checkpoint"   // sections from which another model goes on
	StyleThird      SummaryStyle = "third-person" // what the person and the agent did
	StyleContext    SummaryStyle = "context"      // CONTEXT and LESSONS
	StyleSentences  SummaryStyle = "sentences"    // two to five sentences of prose
)

// Traits are what holds for every store of a runtime. They can be asked where
// no store is at hand: of an archive or a receipt whose store may be gone.
type Traits struct {
	// Runtime is the runtime's name.
	Runtime string
	// Homes are the places below a home directory where its stores are looked
	// for ("~/.codex"), and Variables the environment variables that name
	// others. Both are for people, in the order in which they are looked at.
	Homes, Variables []string
	// Formats are the formats of files that its reader reads.
	Formats []Format
	// Kin are formats of others whose logs it goes on with, because it was made of
	// them: they may lie among its own.
	Kin []Format
	// AppendOnly says that a log is only ever appended to: a place in it that
	// was noted once still holds the same message.
	AppendOnly bool
	// CountsLines says that the lines which a scan counts are those of the file.
	CountsLines bool
	// Indexed says that an index of the runtime names the sessions which go on.
	// A log that it does not name is a [KindOrphan].
	Indexed bool
	// ReadOnly says that nothing of the runtime is ever changed, deleted or put back.
	ReadOnly bool
	// Irreversible says that what is changed in its sessions is never changed back: a
	// log is in the archive only.
	Irreversible bool
	// Purges says that the runtime deletes logs by itself, by their age or number,
	// without a [Ref.Expires] that says when (docs/dev/formats.md, "Overview").
	Purges bool
	// WholeResults is how many of the last tool results it sends whole to its model,
	// cutting those before; 0 for a runtime that sends all.
	WholeResults int
	// Outputs says that a [KindOutput] is the output of a tool, as text, which
	// [ReadOutput] reads.
	Outputs bool
	// NextStart says what the runtime's own next start does where a session has been
	// put away and no log has taken its place: it finds none. It returns "" for a
	// session that no start would have found. nil for a runtime of which every change
	// leaves a session to go on with.
	NextStart func(ref Ref) string
	// Titles are the records in which it writes the title of a session, those that
	// count most first.
	Titles []TitleRecord
	// SummaryStyle is the form of its summaries.
	SummaryStyle SummaryStyle
	// ArchiveDir returns where the archives of a log belong by the runtime's own
	// layout, or "" if the log's path tells no such place; nil if there never is
	// one.
	ArchiveDir func(log string) string
	// Tools are its names of the tools that other runtimes have too; none for a runtime in
	// which no session is begun with what was said in another.
	Tools ToolNames
	// Attached lists, by their SHA-256 in hexadecimal, the files that the records
	// of a log name and that lie elsewhere: without them a copy of the log is not
	// the whole session. nil for a runtime whose logs are whole.
	Attached func(ctx context.Context, log io.Reader) (hashes []string, err error)
}

// Capabilities are what a store declares that it can do, besides listing and
// reading. A field that is nil is something the store cannot do. Whoever needs
// it says so, or returns an error that wraps [ErrUnsupported].
//
// It is a value so that a store that wraps another one passes on what that can
// do, and replaces what it does itself.
type Capabilities struct {
	Traits

	// Strategies are those that its sessions in files can have, the default
	// first. [StrategyNone] stands alone. Ask [Capabilities.StrategiesOf].
	Strategies []Strategy
	// Keep is what stays of a session that is shortened, unless the run was
	// told otherwise.
	Keep Keep

	// What tells about a session.
	Liveness Liveness       // whether somebody is writing it
	Trigger  Trigger        // whether it is due; nil: the size of its context alone decides
	Adviser  Adviser        // the runtime's own command
	Source   LogSource      // the log of a session that is no file
	Counter  MessageCounter // how many messages it has
	Context  ContextScanner // what its runtime sends; nil: its log tells
	Family   Family         // the files that belong to it
	Parent   Parent         // which agent has started another
	Attacher Attacher       // where the files lie that [Traits].Attached lists
	Filer    Filer          // one file, wherever it lies

	// What changes a session, for each of its strategies.
	Rotator   Rotator   // rotate
	Overlayer Overlayer // overlay
	Rewriter  Rewriter  // rewrite
	Trimmer   Trimmer   // trim
	Shortener Shortener // carries out what Overlayer, Rewriter, Trimmer and Carrier plan
	Annotator Annotator // annotate
	Resetter  Resetter  // rotate, by the runtime itself
	Carrier   Carrier   // late records of a log that was rotated away
	Disposer  Disposer  // what rotation has moved aside; nil: it stays where it is
	Learner   Learner   // what was learned from a session

	// What takes a change back.
	Undoer    Undoer
	Restorer  Restorer
	Recorder  Recorder
	Successor Successor
	Guard     Guard

	// What begins a session with what was said in another runtime.
	Beginner Beginner

	// What concerns the database that sessions lie in.
	Shrinker  Shrinker
	Depositor Depositor
	Parts     PartMeasurer
	Deleted   DeletedLister // what the runtime's own delete has left

	// What concerns the store as a whole.
	Locks     LockLister
	Leftovers LeftoverLister
	Recent    RecentReader
	// WithTailCache returns the store with a cache of what is seen of logs.
	WithTailCache func(TailCache) Store
	// WithWorkers returns the store with that many workers for a listing.
	WithWorkers func(n int) Store
	// DatabaseFile returns the file in which a session lies that is no file
	// itself.
	DatabaseFile func(ref Ref) string
	// Closer gives back what the store holds: connections, copies of databases.
	Closer io.Closer
}

// StrategiesOf returns the strategies that one session can have, the default
// first; [StrategyNone] alone if its runtime only may change it, or nobody. What
// lies in a runtime's database is not rotated or shortened, whatever its store
// does with files, and neither is a log that was closed.
func (c Capabilities) StrategiesOf(ref Ref) []Strategy {
	stored := !ref.Kind.InFile() || ref.Kind == KindDatabase
	switch {
	case stored && c.Annotator != nil:
		return []Strategy{StrategyAnnotate}
	case stored, ref.Kind.Closed(), ref.Kind == KindOutput, len(c.Strategies) == 0:
		return []Strategy{StrategyNone}
	}
	return c.Strategies
}

// SourceOf returns the [LogSource] that writes out the log of a session; nil
// for a log that is a file. A store may have both.
func (c Capabilities) SourceOf(ref Ref) LogSource {
	if ref.Kind.InFile() {
		return nil
	}
	return c.Source
}

// CapabilitiesOf returns what a store can do. Without a store, nil, that is
// nothing.
func CapabilitiesOf(store Store) Capabilities {
	if store == nil {
		return Capabilities{}
	}
	return store.Capabilities()
}

// Filer is a store whose sessions are files that name themselves, so that one can be
// archived wherever it lies.
type Filer interface {
	// File returns the session of a file that lies directly in the store.
	File(ctx context.Context, name string) (Ref, error)
}

// Attacher is a store whose records name files by their hash.
type Attacher interface {
	// Attachment is where the file of a hash lies, or belongs.
	Attachment(hash string) Ref
	// Unnamed lists those that no log of the store names. It reads the logs, if
	// there are such files at all, and changes nothing.
	Unnamed(ctx context.Context) (UnnamedFiles, error)
}

// UnnamedFiles are files that no log of a store names any more.
type UnnamedFiles struct {
	Dir   string
	Files []UnnamedFile
	// Command is the runtime's own that removes them.
	Command string
}

// UnnamedFile is one of them.
type UnnamedFile struct {
	Hash  string // SHA-256 in hex
	Bytes int64
}

// Disposer is a store whose rotated logs are this tool's to remove once they
// are archived and settled (pi). Where the runtime has its own name for old
// logs (openclaw's .reset files) they stay.
type Disposer interface {
	// Dispose removes the log that was moved aside by a rotation. It may be
	// repeated.
	Dispose(ctx context.Context, r Rotation) error
}

// MessageCounter is a store that can count a log's messages without reading
// what they say.
type MessageCounter interface {
	CountMessages(ctx context.Context, ref Ref) (int, error)
}

// Guard is a store with places from which nothing may be taken and to which
// nothing may be brought back.
type Guard interface {
	// Untouchable returns an error for such a place.
	Untouchable(path string) error
}

// PartMeasurer is a store that can say what its databases are made of: rows,
// text that is kept twice, indexes.
type PartMeasurer interface {
	// DatabaseParts looks at every page of the databases.
	DatabaseParts(ctx context.Context) ([]DatabasePart, error)
}

// DatabasePart is what one kind of tables and indexes takes up, in bytes of pages.
type DatabasePart struct {
	Database string // path
	Name     string // for people
	Bytes    int64
	// Rows is how many rows it is, and Bytes what they say, for a part that is no
	// kind of tables; else 0.
	Rows int
}

// ContextScanner is a store whose sessions have a part of their context beside their
// log: a compaction that is a file of its own.
type ContextScanner interface {
	// ScanContext reads a session as [Store].Scan does, but what the runtime sends
	// of it.
	ScanContext(ctx context.Context, ref Ref, log io.Reader, o ScanOptions, emit func(*Message) error) (Scan, error)
}

// LockLister is a store whose runtime keeps lock files.
type LockLister interface {
	// Locks returns the lock files that are there now.
	Locks(ctx context.Context, now time.Time) ([]RuntimeLock, error)
}

// RecentReader is a store whose runtime starts a session with the summaries of
// the ones before it.
type RecentReader interface {
	// Recent returns those summaries, the newest first. It returns
	// [ErrManyUsers] if the store has sessions of several users and was not
	// told whose to read.
	Recent(ctx context.Context, now time.Time) ([]string, error)
}

// ErrManyUsers is returned by [RecentReader.Recent] when the summaries are of
// sessions of several users: what one has said is none of the others' business.
var ErrManyUsers = errors.New("the recent sessions are of several users")

// LeftoverLister is a store that finds logs whose sessions have moved into a
// database.
type LeftoverLister interface {
	// Leftovers compares every such log with the database. It changes nothing.
	Leftovers(ctx context.Context) ([]Leftover, error)
}

// Leftover is a log of a time when its runtime kept sessions in files, beside
// the database that has taken their place.
type Leftover struct {
	Path    string
	Agent   string
	Records int    // lines with text
	Missing int    // of them, not in the database: by id, type and content
	First   string // where the first missing one stands, for people
	// Named is the session that its name means, and Headed the one that its
	// header does, "" without one. OpenClaw's doctor leaves a log alone in
	// which they differ.
	Named, Headed string
	Err           error // why the two could not be compared, or nil
}

// Contained reports whether the database has every record of the log.
func (l Leftover) Contained() bool { return l.Err == nil && l.Missing == 0 }
