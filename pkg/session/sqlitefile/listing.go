package sqlitefile

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Listing collects the sessions that a store keeps in databases.
type Listing struct {
	session.Listing

	Runtime string
	Agent   string // of a session without a directory
	Store   string
	Now     time.Time
}

// Ref is a reference to a session of a database, in which an agent works in a
// directory.
func (l *Listing) Ref(database, id, directory string) session.Ref {
	return session.Ref{
		Runtime: l.Runtime, Agent: session.AgentOfDirectory(directory, l.Agent), ID: id, Store: l.Store,
		Path: database + StoredMark + id, Kind: session.KindStored, Primary: true, State: session.StateIdle, Project: directory,
	}
}

// Add adds a reference to a session. One that was used a moment ago is busy.
func (l *Listing) Add(ref session.Ref) {
	if l.Now.Sub(ref.ModTime).Abs() < session.RecentChange {
		ref.State, ref.Reason = session.StateBusy, session.ReasonJustSaid.Text()
	}
	l.Refs = append(l.Refs, ref)
}

// IsSafe reports whether the id of a session can be part of a path. If not, a notice
// says that it is passed over.
func (l *Listing) IsSafe(database, id string) bool {
	if session.SafeID(id) {
		return true
	}
	l.Notices = append(l.Notices, session.Notice{Path: database, Message: fmt.Sprintf("a session is skipped: its id %q has characters that are not safe in a path", id), Unread: true})
	return false
}

// Unread adds the reference that stands for all sessions of a database that cannot
// be read, of this id, and a notice. look looks at the file.
func (l *Listing) Unread(database, id string, cause error, look func() (fs.FileInfo, error)) {
	ref := session.Ref{
		Runtime: l.Runtime, Agent: l.Agent, ID: id, Store: l.Store, Path: database, Kind: session.KindDatabase,
		ModTime: l.Now, State: session.StateUnsupported, Reason: session.ReasonDatabaseUnread.Text(cause),
	}
	if info, err := look(); err == nil {
		ref.Bytes, ref.ModTime = info.Size(), info.ModTime()
	}
	l.Refs = append(l.Refs, ref)
	l.Notices = append(l.Notices, Unreadable(database, cause))
}

// Tables adds a notice of tables of a database that have text and that nobody reads.
func (l *Listing) Tables(database string, tables []string) {
	if len(tables) > 0 {
		l.Notices = append(l.Notices, session.Notice{
			Path: database, Message: "what agents said in " + strings.Join(tables, ", ") + " is not read", Hint: session.CauseTable.Hint(), Cause: session.CauseTable,
		})
	}
}

// Schema adds a notice if the schema of a database, 0 where that is not known, is none
// of those that were tried. later says what else that means of a newer one.
func (l *Listing) Schema(database string, schema, oldest, newest int, later session.Notice) {
	n := session.Notice{Path: database, Cause: session.CauseNewer, Hint: later.Hint}
	switch {
	case schema > newest:
		n.Message = fmt.Sprintf("its schema is %d and this version knows those up to %d: it is read as far as it looks the same%s", schema, newest, later.Message)
	case schema > 0 && schema < oldest:
		n.Message = fmt.Sprintf("its schema is %d and this version was tried with those from %d on: it is read as far as it looks the same", schema, oldest)
		n.Cause, n.Hint = session.CauseOlder, session.CauseOlder.Hint()
	default:
		return
	}
	l.Notices = append(l.Notices, n)
}

// NameAgents names the agents of all references, in their order.
func (l *Listing) NameAgents() {
	for _, ref := range l.Refs {
		if !slices.Contains(l.Agents, ref.Agent) {
			l.Agents = append(l.Agents, ref.Agent)
		}
	}
}

// NewestFirst orders the references by when they were used last.
func (l *Listing) NewestFirst() {
	slices.SortStableFunc(l.Refs, func(x, y session.Ref) int { return y.ModTime.Compare(x.ModTime) })
}

// MaxFamily bounds how many sessions are followed from one to the one that began it.
const MaxFamily = 64

// Top is the session that a person sees of one that an agent has begun: the last of
// those that one after the other began it. parent returns the one that began a
// session, and whether there is one.
func Top[S any](s S, parent func(S) (S, bool)) S {
	for range MaxFamily {
		began, ok := parent(s)
		if !ok {
			break
		}
		s = began
	}
	return s
}
