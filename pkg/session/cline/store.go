package cline

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/cline/hubdb"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Store is one home directory of Cline, a [session.Store]: sessions are read,
// never changed; one that is gone can be put back. What Cline's own delete left of
// a session in the databases of its hub can be removed. It holds nothing open but
// the databases that it has read, until it is closed, and may be used by several
// goroutines at once.
type Store struct {
	logfile.Logs
	databasePin *logfile.Pin
	databases   *hubdb.Databases
}

const (
	dataName      = "data"
	sessionsName  = "sessions"
	messagesEnd   = ".messages.json"
	compactionEnd = ".compaction.json"
	manifestEnd   = ".json"
	// noAgent is the agent of sessions that name no working directory.
	noAgent = "cline"
	// deepest is how many directories a file of a session lies below the sessions.
	deepest = 1
)

// Open returns the store of a .cline directory, of its data directory, or of the
// directory in that which holds the sessions.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	s := &Store{databasePin: &logfile.Pin{}, databases: hubdb.NewDatabases(), Logs: logfile.Logs{
		Name: session.RuntimeCline, Store: root, Base: logfile.Within(logfile.Within(root, dataName), sessionsName), Depth: deepest,
		Locate: locate, Owned: true,
	}}
	s.ReadAll, s.ReadTail = s.Scan, s.readTail
	return s
}

// Roots returns the .cline directory of a user if it holds sessions.
func Roots(home string, _ func(string) string) []string {
	return logfile.Holding(home, ".cline", filepath.Join(dataName, sessionsName))
}

// locate reads where a session, that of another agent in it, or what belongs to
// it lies.
func locate(below string) (session.Ref, bool) {
	id, name, inside := strings.Cut(below, "/")
	ref := session.Ref{Agent: noAgent, ID: id, Kind: session.KindLive}
	if !inside || !session.SafeID(id) || !session.SafeID(name) || !strings.HasSuffix(name, manifestEnd) {
		return ref, false
	}
	stem, messages := strings.CutSuffix(name, messagesEnd)
	switch {
	case messages && stem == id:
		return ref, true
	case messages:
		ref.Kind, ref.Parent, ref.ID = session.KindSubagent, id, session.CleanID(id+"."+stem)
	default:
		ref.Kind, ref.Parent, ref.ID = session.KindOutput, id, session.CleanID(id+"."+strings.TrimPrefix(name, id+"."))
	}
	return ref, true
}

// List implements [session.Store]: the sessions in the order of their names, which
// begin with a time, each followed by what belongs to it. Every session is
// primary: Cline goes on with whichever it is told to.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{Lister: s.NewLister()}
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		if base.HasDirectory(name) && session.SafeID(name) {
			l.directory(base, name)
		}
	})
	for _, ref := range l.Listing.Refs {
		if !slices.Contains(l.Listing.Agents, ref.Agent) {
			l.Listing.Agents = append(l.Listing.Agents, ref.Agent)
		}
	}
	return l.Listing, err
}

// lister collects the sessions of one store.
type lister struct{ *logfile.Lister }

// directory lists one session, and then what belongs to it.
func (l *lister) directory(base *logfile.Dir, id string) {
	d := l.Below(base, id)
	if d == nil {
		return
	}
	defer d.Close()
	project := manifestOf(d, id+messagesEnd).Directory
	agent := session.AgentOfDirectory(project, noAgent)
	var members []session.Ref
	l.Each(d, func(name string) {
		at, ok := locate(id + "/" + name)
		if !ok {
			return
		}
		ref, ok := l.Ref(d, name)
		if !ok {
			return
		}
		ref.Agent, ref.Project, ref.ID, ref.Kind, ref.Parent = agent, project, at.ID, at.Kind, at.Parent
		switch ref.Kind {
		case session.KindLive:
			ref.Primary = true
			l.Add(ref)
			return
		case session.KindOutput:
			ref.Key = id + "/" + name
			ref.State, ref.Reason = session.StateUnsupported, session.ReasonPartOfSession.Text()
		}
		members = append(members, ref)
	})
	for _, ref := range members {
		l.Add(ref)
	}
}

// Place implements [session.Restorer]. The agent of a session whose manifest is
// there is that of its directory.
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	return placed(ctx, &s.Logs, path, now, func(d *logfile.Dir, path string) string {
		id := filepath.Base(filepath.Dir(path))
		return session.AgentOfDirectory(manifestOf(d, id+messagesEnd).Directory, noAgent)
	})
}

// placed is where a log is, or may be put back, with the agent that what lies beside
// it names.
func placed(ctx context.Context, logs *logfile.Logs, path string, now time.Time, agentOf func(d *logfile.Dir, path string) string) (session.Place, error) {
	place, err := logs.Place(ctx, path, now)
	if err != nil || !place.There {
		return place, err
	}
	d, _, err := logs.Directory(place.Path)
	if err != nil {
		return place, err
	}
	defer d.Close()
	place.Ref.Agent = agentOf(d, place.Path)
	return place, nil
}
