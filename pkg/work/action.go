package work

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Kind says what an action did. Kinds are kept in databases and never change.
type Kind string

// The kinds of actions.
const (
	KindCommand Kind = "command" // a command line ran in a shell
	KindRead    Kind = "read"    // a file, or some of its lines, was read
	KindWrite   Kind = "write"   // a whole file was written
	KindEdit    Kind = "edit"    // a part of a file was changed
	KindDelete  Kind = "delete"  // a file was removed
	KindSearch  Kind = "search"  // files or the web were searched
	KindFetch   Kind = "fetch"   // an address was fetched
)

// Bounds of what an action holds. Longer texts are cut at a code point.
const (
	MaxCommand    = 2000 // runes of a command line
	MaxPath       = 1000 // runes of a path or of a directory
	MaxQuery      = 500  // runes of a query
	MaxURL        = 1000 // runes of an address
	MaxErrorLines = 4    // error lines
	MaxErrorLine  = 240  // runes of an error line
)

// Action is one thing that was done. Its texts are its own, valid UTF-8, without
// control characters but line feeds and tabs, and what looked like a secret in
// them is replaced by [secrets.Mark].
//
// One call of a tool can be several actions: a patch of three files is three
// edits, all with the place of the one call.
type Action struct {
	Kind Kind
	// Tool is the name that the runtime's log gives the tool ("Bash",
	// "exec_command"); of a tool of an MCP server the whole name. Empty for a
	// command that a person ran by hand.
	Tool string
	// Command is the command line of a KindCommand, without the shell that
	// wraps it ("bash -lc").
	Command string
	// Path is the file or the directory, as the log names it: absolute, or
	// relative to Directory. Of a search it is where was searched, or empty.
	Path string
	// Directory is the working directory: the one that the call names, else the
	// one that the log names for the message; empty if neither does.
	Directory string
	// Span are the lines of the file that were read or changed.
	Span Span
	// Query is what a search looked for.
	Query string
	// URL is what a fetch asked for.
	URL string

	// Answered is true when the log has the call's result. Without one Exit,
	// Failed and Errors say nothing.
	Answered bool
	// Exit is the exit status of the command, if HasExit.
	Exit    int
	HasExit bool
	// Failed is true when the runtime says that the call failed, or the exit
	// status is not 0.
	Failed bool
	// Errors are the lines of the result that tell what went wrong, at most
	// MaxErrorLines; empty unless Failed.
	Errors []string

	// Time is that of the message with the call, in milliseconds of the epoch;
	// 0 if the log has none.
	Time int64
	// Ended is the time of the message with the result, likewise.
	Ended int64
	// Branch says whether the call is on the branch that the session goes on
	// with.
	Branch session.Branch
	// Carried says that it was done in another session, with which this one began.
	Carried bool
	// Call is where the call stands, Result where its result does; of a command
	// in the background where its end is told. Result is the zero Place unless
	// Answered; it is Call where a runtime keeps both in one record.
	Call, Result Place
	// Redacted is how many secrets were replaced in the texts.
	Redacted int
}

// Span is a range of lines of a file, from 1, both included. From 0 says that
// the log does not tell; To 0 that it is not known where the range ends.
type Span struct{ From, To int }

// Place is where something stands in a session's log. Lines are those that
// "archives show --lines" takes.
type Place struct {
	Ordinal             int   // of the message, from 0
	FirstLine, LastLine int   // from 1, both included
	FirstByte, EndByte  int64 // half-open
}

// Counts are what a [Reader] saw.
type Counts struct {
	Calls   int // calls of tools, and commands that a person ran
	Actions int // what was made of them
	// Others are calls of tools that do nothing of the kinds above: plans,
	// sub-agents, and tools that are not known.
	Others int
	// Unreadable are calls of known tools whose arguments were not understood:
	// no JSON, without the one argument that matters, or of another type.
	Unreadable int
	Unanswered int // calls whose result did not come
	// Orphans are results of calls that were not seen, or so long ago that they
	// were given up.
	Orphans int
}
