package copilot

import (
	"context"
	"errors"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"go.yaml.in/yaml/v3"
)

// Store is one home directory of Copilot CLI, a [session.Store]. It holds nothing
// open but what the run holds, and may be used by several goroutines at once.
type Store struct {
	logfile.Logs
	Changes logfile.RotatingLogs // of the same logs
}

// Open returns the store of a Copilot home, or of the directory in it that holds
// the sessions.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	s := &Store{}
	s.Logs = logfile.Logs{
		Pin:  &logfile.Pin{},
		Name: session.RuntimeCopilot, Store: root, Base: logfile.Within(root, sessionsName), Depth: deepest, Locate: locate, Like: beside,
	}
	s.ReadAll, s.ReadTail = s.Scan, readTail
	s.Changes.Logs = s.Logs
	return s
}

// Roots returns the Copilot home of a user if it holds sessions: that of
// COPILOT_HOME, else ~/.copilot.
func Roots(home string, getenv func(string) string) []string {
	root := getenv("COPILOT_HOME")
	if root == "" && home != "" {
		root = filepath.Join(home, ".copilot")
	}
	if root == "" || !logfile.MayHold(filepath.Join(root, sessionsName)) {
		return nil
	}
	return []string{root}
}

const (
	sessionsName = "session-state"
	logName      = "events.jsonl"
	// workspaceName is the file beside a log in which the program keeps the session's
	// name.
	workspaceName = "workspace.yaml"
	flatEnd       = ".jsonl"
	recoveryMark  = logName + ".backup-before-recovery-"
	// noAgent is the agent of sessions that name no working directory.
	noAgent = "copilot"
	// deepest is how many directories a file that belongs to a session lies below
	// the sessions: <id>/rewind-file-snapshots/<directory>.
	deepest = 3
)

// flatName is the name of a session of older versions that lies flat.
var flatName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}\.jsonl$`)
})

// locate reads where a log, a copy of one, or what belongs to a session lies.
func locate(below string) (session.Ref, bool) {
	id, name, inside := strings.Cut(below, "/")
	ref := session.Ref{Agent: noAgent, ID: id, Kind: session.KindLive}
	switch {
	case !inside:
		ref.ID = strings.TrimSuffix(id, flatEnd)
		return ref, flatName().MatchString(id)
	case !session.SafeID(id):
		return ref, false
	case name == logName:
		return ref, true
	case strings.HasPrefix(name, recoveryMark):
		ref.Kind = session.KindBackup
		return ref, session.SafeID(name)
	}
	ref.Kind, ref.Parent, ref.ID = session.KindOutput, id, session.CleanID(id+"."+strings.ReplaceAll(name, "/", "."))
	return ref, belongs(name)
}

// belongs reports whether a file in the directory of a session, by its path
// below it, is part of the session: locks, and what sessctl puts there for a
// while, are not.
func belongs(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, ".") || part == "" {
			return false
		}
	}
	return !strings.HasPrefix(name, logName) && !lockName().MatchString(name) && !strings.HasSuffix(name, holdEnd) && !strings.HasSuffix(name, "-shm")
}

// beside is what may lend a log that is put back its mode and owner.
func beside(name string) bool { return name == workspaceName }

// List implements [session.Store]: the sessions in the order of their names, each
// followed by the copies that the program made before it repaired the log, and by
// what else belongs to it. Every session is primary: the program goes on with
// whichever it is told to.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{Lister: s.NewLister()}
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		switch {
		case flatName().MatchString(name):
			l.log(base, name, session.KindLive)
		case base.HasDirectory(name) && session.SafeID(name):
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
type lister struct {
	*logfile.Lister
	agent string // of the session that is listed
}

// directory lists one session.
func (l *lister) directory(base *logfile.Dir, id string) {
	d := l.Below(base, id)
	if d == nil {
		return
	}
	defer d.Close()
	if !l.log(d, logName, session.KindLive) {
		return
	}
	l.Each(d, func(name string) {
		if live, aside := logfile.OriginalName(name); aside && live == logName {
			if ref, ok := l.Located(d, name, session.ReasonTrimmed.Text()); ok {
				ref.Agent = l.agent
				l.Add(ref)
			}
		}
		if strings.HasPrefix(name, recoveryMark) {
			l.log(d, name, session.KindBackup)
		}
	})
	l.members(d, id, "", deepest)
}

// members lists what belongs to a session, below a directory of it.
func (l *lister) members(d *logfile.Dir, id, below string, depth int) {
	l.Each(d, func(name string) {
		inside := path.Join(below, name)
		info, err := d.Stat(name)
		switch {
		case err != nil:
			l.Skip(d.At(name), err)
		case info == nil || !belongs(inside):
		case info.IsDir():
			if inner := l.Below(d, name); inner != nil && depth > 1 {
				l.members(inner, id, inside, depth-1)
				inner.Close()
			}
		default:
			l.member(d, id, name, inside)
		}
	})
}

func (l *lister) member(d *logfile.Dir, id, name, inside string) {
	ref, ok := l.Ref(d, name)
	if !ok {
		return
	}
	ref.Agent, ref.Kind, ref.Parent = l.agent, session.KindOutput, id
	ref.Key, ref.ID = id+"/"+inside, session.CleanID(id+"."+strings.ReplaceAll(inside, "/", "."))
	ref.State, ref.Reason = session.StateUnsupported, session.ReasonPartOfSession.Text()
	l.Add(ref)
}

// log lists a log, or a copy of one; false if there is none.
func (l *lister) log(d *logfile.Dir, name string, kind session.Kind) bool {
	ref, ok := l.Ref(d, name)
	if !ok {
		return false
	}
	id := strings.TrimSuffix(name, flatEnd)
	if strings.HasPrefix(name, logName) {
		id = filepath.Base(d.Path)
	}
	b := beginningIn(d, name)
	ref.ID, ref.Kind, ref.Primary = session.CleanID(id), kind, kind == session.KindLive
	ref.Agent = session.AgentOfDirectory(b.cwd, noAgent)
	if kind == session.KindLive {
		l.agent = ref.Agent
		if name == logName {
			ref.Title = titleIn(d)
		}
		if lock, busy := heldBy(d, time.Now()); busy && name == logName {
			ref.State, ref.Reason = session.StateBusy, lock
		}
	} else {
		ref.Reason = session.ReasonRepairCopy.Text()
	}
	l.Add(ref)
	return true
}

// titleIn is the name of the session of a directory, "" where its file says none.
func titleIn(d *logfile.Dir) string {
	file, _, err := d.OpenLog(workspaceName)
	if err != nil {
		return ""
	}
	defer file.Close()
	var said struct {
		Name string `yaml:"name"`
	}
	_ = yaml.NewDecoder(io.LimitReader(file, session.HeadSize)).Decode(&said) // the first words of a person are its title
	return said.Name
}

// errFound ends the search for the first record.
var errFound = errors.New("found")

// beginningIn reads the first record of a log.
func beginningIn(d *logfile.Dir, name string) (b beginning) {
	log, _, err := d.OpenLog(name)
	if err != nil {
		return b
	}
	defer log.Close()
	var dec decoder
	_, _ = jsonl.Scan(context.Background(), io.LimitReader(log, session.HeadSize), jsonl.Options{}, func(r *jsonl.Record) error {
		if err := dec.decode(r.Raw); err != nil {
			return err
		}
		if dec.record.kind == header {
			b = dec.beginning()
			return errFound
		}
		return nil
	}) // what cannot be read is a session without a directory
	return b
}

// Place implements [session.Restorer]. The agent of a log that is there is that of
// its first record.
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	place, err := s.Logs.Place(ctx, path, now)
	if err != nil || !place.There || place.Ref.Kind == session.KindOutput {
		return place, err
	}
	d, name, err := s.Directory(place.Path)
	if err != nil {
		return place, err
	}
	defer d.Close()
	place.Ref.Agent = session.AgentOfDirectory(beginningIn(d, name).cwd, noAgent)
	return place, nil
}
