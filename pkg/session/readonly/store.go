package readonly

import (
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Runtime describes a runtime whose sessions are log files.
type Runtime struct {
	Traits session.Traits
	// Base is the directory of all logs below the root, "" for the root itself. A store
	// may be opened with either.
	Base string
	// Patterns match where logs lie below Base, element by element as [path.Match] does.
	// No other directory is opened.
	Patterns []string
	// Either are names of which a directory has one log: the largest, or the first.
	Either []string
	// Locate says which session lies at a place that a pattern matches: its agent, its
	// id, its kind if it is not live, and its parent.
	Locate func(parts []string) session.Ref
	// Describe returns, for a listing of the store at root, what adds what files beside a
	// log say; nil for nothing.
	Describe func(root string) Describer
	// New begins to read a log.
	New func(o session.ScanOptions) Scanner
	// Command is the runtime's own command that makes a session small, for people.
	Command string
}

// Describer adds to a reference what files beside the log say. dirs are the directories
// from the base to that of the log.
type Describer func(dirs []*logfile.Dir, ref *session.Ref)

// Scanner reads one log.
type Scanner interface {
	// Scan reads the log as [session.Store] says.
	Scan(ctx context.Context, r io.Reader, emit func(*session.Message) error) (session.Scan, error)
	// Ended reports whether the last record said that a turn has ended.
	Ended() bool
}

// Store is one store of a runtime, a [session.Store] that has no means to change it. It
// holds nothing open and may be used by several goroutines at once.
type Store struct {
	logs logfile.Logs
	of   Runtime
}

// Open returns the store below a root.
func Open(of Runtime, root string) *Store {
	root = logfile.Absolute(root)
	s := &Store{of: of}
	s.logs = logfile.Logs{Name: of.Traits.Runtime, Store: root, Base: root, Locate: s.locate, ReadAll: s.Scan, ReadTail: s.readTail}
	if of.Base != "" {
		s.logs.Base = logfile.Within(root, of.Base)
	}
	for _, pattern := range of.Patterns {
		s.logs.Depth = max(s.logs.Depth, strings.Count(pattern, "/"))
	}
	return s
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: s.of.Traits, Strategies: []session.Strategy{session.StrategyNone}, Liveness: s, Adviser: s, Counter: s,
	}
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return s.logs.Runtime() }

// Root implements [session.Store].
func (s *Store) Root() string { return s.logs.Root() }

// Tail implements [session.Store] by reading the whole log.
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	return s.logs.Tail(ctx, ref)
}

// Busy implements [session.Liveness]: such runtimes leave no sign of life but what they
// write.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	return s.logs.Busy(ctx, q)
}

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string { return s.of.Command }

// CountMessages implements [session.MessageCounter].
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	return s.logs.CountMessages(ctx, ref)
}

// Scan implements [session.Store].
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	return s.of.New(o).Scan(ctx, r, emit)
}

// readTail reads a log for what its end tells. That a turn has ended says its record.
func (s *Store) readTail(ctx context.Context, log *os.File, info os.FileInfo, _ session.Ref) (session.Tail, error) {
	var scanner Scanner
	tail, err := session.TailScan(ctx, log, info.ModTime(), func(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
		scanner = s.of.New(o)
		return scanner.Scan(ctx, r, emit)
	})
	if err != nil {
		return session.Tail{}, err
	}
	tail.Answered = tail.Answered || scanner.Ended()
	return tail, nil
}

// locate reads where a log lies: see [logfile.Logs].
func (s *Store) locate(below string) (session.Ref, bool) {
	parts := strings.Split(below, "/")
	if !s.matches(parts, true) {
		return session.Ref{}, false
	}
	ref := s.of.Locate(parts)
	if ref.Kind == "" {
		ref.Kind = session.KindLive
	}
	return ref, session.SafeID(ref.ID) && (ref.Parent == "" || session.SafeID(ref.Parent))
}

// matches reports whether a pattern names a place, or, if it need not be whole, a
// directory on the way to one.
func (s *Store) matches(parts []string, whole bool) bool {
	return slices.ContainsFunc(s.of.Patterns, func(pattern string) bool {
		names := strings.Split(pattern, "/")
		if whole != (len(names) == len(parts)) || len(names) < len(parts) {
			return false
		}
		ok, _ := path.Match(strings.Join(names[:len(parts)], "/"), strings.Join(parts, "/")) // the patterns are ours
		return ok
	})
}

// List implements [session.Store]: the logs in the order of their directories. Every
// live one is primary: such a runtime goes on with whichever it is told to.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{Lister: s.logs.NewLister(), store: s, describe: func([]*logfile.Dir, *session.Ref) {}}
	if s.of.Describe != nil {
		l.describe = s.of.Describe(s.Root())
	}
	err := l.Base(ctx, func(base *logfile.Dir, name string) { l.entry([]*logfile.Dir{base}, []string{name}) })
	for _, ref := range l.Listing.Refs {
		if !slices.Contains(l.Listing.Agents, ref.Agent) {
			l.Listing.Agents = append(l.Listing.Agents, ref.Agent)
		}
	}
	return l.Listing, err
}

// lister collects the logs of one store.
type lister struct {
	*logfile.Lister
	store    *Store
	describe Describer
}

// entry lists what lies at one place: a log, or those in a directory.
func (l *lister) entry(dirs []*logfile.Dir, parts []string) {
	in, name := dirs[len(dirs)-1], parts[len(parts)-1]
	switch {
	case l.store.matches(parts, true):
		l.log(dirs, parts)
	case l.store.matches(parts, false):
		if d := l.Below(in, name); d != nil {
			defer d.Close()
			l.Each(d, func(name string) { l.entry(append(slices.Clip(dirs), d), append(slices.Clip(parts), name)) })
		}
	}
}

// log lists one log, unless a larger one of the same session lies beside it.
func (l *lister) log(dirs []*logfile.Dir, parts []string) {
	in, name := dirs[len(dirs)-1], parts[len(parts)-1]
	if l.store.besides(in, name) {
		return
	}
	ref, ok := l.Located(in, name, "")
	switch {
	case ok:
		l.describe(dirs, &ref)
		ref.Primary = ref.Kind == session.KindLive
		l.Add(ref)
	case !session.SafeID(l.store.of.Locate(parts).ID):
		l.Notice(in.At(name), "it is left out: its name can be no session's id")
	}
}

// besides reports whether another of the names that a log may have lies in the same
// directory and says more.
func (s *Store) besides(in *logfile.Dir, name string) bool {
	own, size := slices.Index(s.of.Either, name), sizeOf(in, name)
	return own >= 0 && slices.ContainsFunc(s.of.Either, func(other string) bool {
		n, first := sizeOf(in, other), slices.Index(s.of.Either, other) < own
		return n > size || n == size && first
	})
}

// sizeOf is the size of a file, below 0 if there is none.
func sizeOf(in *logfile.Dir, name string) int64 {
	info, err := in.Root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// Head is the beginning of a file in a directory, at most so many bytes; nil if it cannot
// be read.
func Head(in *logfile.Dir, name string, most int64) []byte {
	file, _, err := in.OpenLog(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	head, _ := io.ReadAll(io.LimitReader(file, most)) // what there is
	return head
}

// WorksIn notes the directory that a session works in, from which its agent has its name.
func WorksIn(ref *session.Ref, cwd []byte) {
	if len(cwd) > 0 {
		ref.Project, ref.Agent = string(cwd), session.AgentOfDirectory(string(cwd), ref.Agent)
	}
}
