package cursor

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Store is one home directory of Cursor, a [session.Store] that has no means to
// change it. It holds nothing open and may be used by several goroutines at once.
type Store struct{ logs logfile.Logs }

const (
	projectsName    = "projects"
	transcriptsName = "agent-transcripts"
	subagentsName   = "subagents"
	logEnd          = ".jsonl"
	// deepest is how many directories a transcript lies below the projects:
	// <project>/agent-transcripts/<id>/subagents.
	deepest = 4
)

// Open returns the store of a .cursor directory, or of its projects.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	s := &Store{}
	s.logs = logfile.Logs{
		Name: session.RuntimeCursor, Store: root, Base: logfile.Within(root, projectsName), Depth: deepest, Locate: locate,
		ReadAll: s.Scan, ReadTail: readTail,
	}
	return s
}

// Roots returns the .cursor directory of a user if it has transcripts.
func Roots(home string, _ func(string) string) []string {
	if home == "" {
		return nil
	}
	root := filepath.Join(home, ".cursor")
	if found, _ := filepath.Glob(filepath.Join(root, projectsName, "*", transcriptsName)); len(found) == 0 && logfile.Unreadable(filepath.Join(root, projectsName)) == nil {
		return nil
	}
	return logfile.Existing(root)
}

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeCursor, Homes: []string{"~/.cursor/projects"}, Formats: []session.Format{session.FormatCursor},
		SummaryStyle: session.StyleCheckpoint, ReadOnly: true,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyNone}, Liveness: s, Adviser: s, Counter: s,
	}
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return s.logs.Runtime() }

// Root implements [session.Store].
func (s *Store) Root() string { return s.logs.Root() }

// Tail implements [session.Store].
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	return s.logs.Tail(ctx, ref)
}

// Busy implements [session.Liveness]: Cursor leaves no sign of life but what it
// writes.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	return s.logs.Busy(ctx, q)
}

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "/summarize in the chat makes its context small"
}

// CountMessages implements [session.MessageCounter].
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	return s.logs.CountMessages(ctx, ref)
}

// readTail reads a transcript for what its end tells. Calls have no results there:
// that the turn has ended says the record of it.
func readTail(ctx context.Context, log *os.File, info os.FileInfo, _ session.Ref) (session.Tail, error) {
	scan := newScanner(session.ScanOptions{})
	tail, err := session.TailScan(ctx, log, info.ModTime(), func(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
		scan.thinking = o.Thinking
		return scan.lines.Run(ctx, r, emit, scan.read)
	})
	if err != nil {
		return session.Tail{}, err
	}
	tail.Answered = tail.Answered || scan.ended
	tail.SetLast(0, info.ModTime()) // the last time in it is that of a question
	return tail, nil
}

// locate reads where a transcript, or that of a sub-agent, lies.
func locate(below string) (session.Ref, bool) {
	parts := strings.Split(below, "/")
	ref := session.Ref{Agent: session.CleanAgent(parts[0]), Kind: session.KindLive}
	stem, isLog := strings.CutSuffix(parts[len(parts)-1], logEnd)
	if ref.ID = stem; !isLog || !session.SafeID(stem) || len(parts) < 3 || parts[1] != transcriptsName {
		return ref, false
	}
	switch len(parts) {
	case 3:
		return ref, true
	case 4:
		return ref, parts[2] == stem
	case 5:
		ref.Kind, ref.Parent = session.KindSubagent, parts[2]
		return ref, parts[3] == subagentsName && session.SafeID(parts[2])
	}
	return ref, false
}

// List implements [session.Store]: the transcripts of each project, each followed by
// those of its sub-agents. Every one is primary: Cursor goes on with whichever it is
// told to.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{Lister: s.logs.NewLister()}
	err := l.Base(ctx, l.project)
	for _, ref := range l.Listing.Refs {
		if !slices.Contains(l.Listing.Agents, ref.Agent) {
			l.Listing.Agents = append(l.Listing.Agents, ref.Agent)
		}
	}
	return l.Listing, err
}

// lister collects the transcripts of one store.
type lister struct {
	*logfile.Lister
	unread int // files of one project that are transcripts in another form
}

// project lists the transcripts of one project.
func (l *lister) project(base *logfile.Dir, name string) {
	if strings.HasPrefix(name, ".") {
		return
	}
	l.inside(base, name, func(project *logfile.Dir) {
		l.inside(project, transcriptsName, func(all *logfile.Dir) {
			l.unread = 0
			l.Each(all, func(name string) { l.entry(all, name) })
			if l.unread > 0 {
				l.Notice(all.Path, "%d transcripts of an earlier version (.txt) are not read", l.unread)
			}
		})
	})
}

// entry lists what lies among the transcripts under one name: the directory of a
// session, or a transcript of an earlier version.
func (l *lister) entry(all *logfile.Dir, name string) {
	if !all.HasDirectory(name) {
		l.add(all, name)
		return
	}
	l.inside(all, name, func(d *logfile.Dir) {
		for _, end := range []string{logEnd, textEnd} {
			if _, err := d.Root.Lstat(name + end); err == nil {
				l.add(d, name+end)
				break
			}
		}
		l.inside(d, subagentsName, func(d *logfile.Dir) { l.Each(d, func(name string) { l.add(d, name) }) })
	})
}

// textEnd is the end of transcripts that are text, which are not read.
const textEnd = ".txt"

// inside opens a directory, if it is there, while its content is listed.
func (l *lister) inside(in *logfile.Dir, name string, list func(*logfile.Dir)) {
	if d := l.Below(in, name); d != nil {
		defer d.Close()
		list(d)
	}
}

// add lists one transcript.
func (l *lister) add(d *logfile.Dir, name string) {
	if strings.HasSuffix(name, textEnd) {
		l.unread++
		return
	}
	ref, ok := l.Located(d, name, "")
	if ok {
		ref.Primary = ref.Kind == session.KindLive
		l.Add(ref)
	} else if strings.HasSuffix(name, logEnd) && !session.SafeID(strings.TrimSuffix(name, logEnd)) {
		l.Notice(d.At(name), "it is left out: its name can be no session's id")
	}
}
