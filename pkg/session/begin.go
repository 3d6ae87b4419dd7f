package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Beginner is a store in which a session can be begun with what was said in one of
// another runtime.
type Beginner interface {
	// PlanBegin says how. It changes nothing.
	PlanBegin(ctx context.Context, c Carried) (Begun, error)
	// Begin carries a plan out. Nothing is ever replaced: an error that wraps
	// fs.ErrExists is returned where something is already.
	Begin(ctx context.Context, b Begun) error
}

// Versioner is a [Beginner] that asks the runtime's own program for its version.
type Versioner interface {
	Version(ctx context.Context) (string, error)
}

// Carried is what was said in a session, without anything that belongs to its runtime
// alone: no thinking, no counts, no model. Roles alternate, but for results: those of a
// message's calls follow it at once, each once, in the order of the calls.
type Carried struct {
	Summary   string // of what came before the messages, or ""
	Note      string // where it came from: for the model and for people
	Title     string // for lists, or ""
	Directory string // the working directory in which it goes on
	Now       time.Time
	Messages  []CarriedMessage
}

// CarriedMessage is one message: of [RoleUser], [RoleAssistant] or [RoleToolResult].
type CarriedMessage struct {
	Role     Role
	Text     string
	Images   []Picture     // of a person or a result
	Time     int64         // when it was said, epoch milliseconds; never of the carrying
	Calls    []CarriedCall // of an assistant
	CallID   string        // of a result
	ToolName string        // the same
	Failed   bool          // the same
}

// CarriedCall is a call of a tool. Its id is unlike all others, and of letters, digits
// and underscores.
type CarriedCall struct {
	ID, Name  string
	Arguments json.RawMessage // an object
}

// Begun is a session that is to be begun.
type Begun struct {
	ID      string
	Path    string   // where its log goes, absolute
	Command []string // with which a person goes on with it, in the working directory
	Log     []byte
	// Owner is a file that says whose the directory of the log is, or which session it
	// is, Directory what it says; "" for a runtime without such files.
	Owner, Directory string
}

// ToolNames are the tools of a runtime that others have too, word for word the same but
// for their names and those of their arguments.
type ToolNames struct {
	Run, Read, Write, Edit        string // "" for one that it does not have
	Command, Path, Old, New, List string // arguments; List is the one in which edits stand, or ""
	// Longest is how many characters of a result are sent when a session goes on; what is
	// longer is carried as text. 0 for all.
	Longest int
	// Trusts says that the runtime takes a file for known if the session has read or
	// written it: a call about a file that changed since is carried as text.
	Trusts bool
	// Tried are the oldest and the newest version of the runtime that went on with such
	// a log, where its own logs name their version; "" for a runtime whose do not.
	Tried [2]string
	// Images says that what people say may have images, ResultImages that results may
	// have them too: else such a result is carried as text, with its images.
	Images, ResultImages bool
	// TextOnly says that calls are carried as text.
	TextOnly bool
	// Unsent are characters: a text of a person that begins with one is not sent, but for
	// what stands before it.
	Unsent string
}

// MarkedSummary is a summary for a runtime that knows it by these marks, and UnmarkedSummary
// what is between them.
func MarkedSummary(summary string) string { return snapshotBegin + summary + snapshotEnd }

const snapshotBegin, snapshotEnd = "<state_snapshot>\n", "\n</state_snapshot>"

// UnmarkedSummary is the text of a summary that may have the marks of [MarkedSummary].
func UnmarkedSummary(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, snapshotBegin), snapshotEnd)
}

// OriginMark is in the record of a carried session that says where it came from, where a
// runtime has a place for such a word.
const OriginMark = "sessctl.origin"

// OrderedID returns a UUID (version 7) whose order is that of the times.
func OrderedID(at time.Time) string {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its documentation
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		b[i] = byte(ms)
	}
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Stamp is a time as most runtimes write it: UTC with milliseconds.
func Stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(stampForm) }

const stampForm = "2006-01-02T15:04:05.000Z"

// Times gives the records of carried messages their times: of the message, never
// earlier than that of the record before, nor later than the carrying (see [Origin]).
type Times struct{ last int64 }

// At returns the time of the next record, in epoch milliseconds.
func (t *Times) At(m CarriedMessage, now time.Time) int64 {
	switch {
	case m.Time > t.last:
		t.last = min(m.Time, now.UnixMilli())
	case t.last == 0:
		t.last = now.UnixMilli()
	}
	return t.last
}

// Lines writes records as lines of JSON, as a log has them.
type Lines struct {
	text bytes.Buffer
	Err  error // the first one
}

// Add writes a record.
func (l *Lines) Add(record any) {
	e := json.NewEncoder(&l.text)
	e.SetEscapeHTML(false)
	l.Err = errors.Join(l.Err, e.Encode(record))
}

// Bytes are all lines.
func (l *Lines) Bytes() []byte { return l.text.Bytes() }
