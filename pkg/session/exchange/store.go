package exchange

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Store is one directory with such files, a [session.Store] that has no means to change
// it. It holds nothing open and may be used by several goroutines at once.
type Store struct{ logs logfile.Logs }

// deepest is how many directories below the store files are looked for: Harbor has
// <job>/<trial>/agent/trajectory.json.
const deepest = 4

// ends are how names of the files end.
func ends() []string { return []string{".jsonl", ".json"} }

// Open returns the store of a directory.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	s := &Store{}
	s.logs = logfile.Logs{Name: session.RuntimeExchange, Store: root, Base: root, Depth: deepest, Locate: s.locate, ReadAll: s.Scan}
	return s
}

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime:      session.RuntimeExchange,
		Formats:      []session.Format{session.FormatATIF, session.FormatChat, session.FormatResponses, session.FormatShareGPT, session.FormatTrace, session.FormatGenericChat},
		SummaryStyle: session.StyleCheckpoint, ReadOnly: true,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{Traits: Traits(), Strategies: []session.Strategy{session.StrategyNone}, Liveness: s, Adviser: s, Counter: s, Filer: s}
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return s.logs.Runtime() }

// Root implements [session.Store].
func (s *Store) Root() string { return s.logs.Root() }

// Tail implements [session.Store].
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	tail, err := s.logs.Tail(ctx, ref)
	tail.Answered = true // nobody goes on with a file that was handed on
	return tail, err
}

// Busy implements [session.Liveness].
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error { return s.logs.Busy(ctx, q) }

// OwnCommand implements [session.Adviser]: there is no program.
func (s *Store) OwnCommand(session.Ref) string { return "no program goes on with it" }

// CountMessages implements [session.MessageCounter].
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	return s.logs.CountMessages(ctx, ref)
}

// locate reads where a file lies: its agent is the first directory below the store, or
// the store's own.
func (s *Store) locate(below string) (session.Ref, bool) {
	first, _, inside := strings.Cut(below, "/")
	if !inside {
		first = filepath.Base(s.logs.Base)
	}
	ref := session.Ref{Agent: session.CleanAgent(first), Kind: session.KindLive}
	for _, end := range ends() {
		if stem, ok := strings.CutSuffix(below, end); ok && !strings.HasPrefix(path.Base(stem), ".") && path.Base(below) != end {
			ref.ID = session.CleanID(strings.ReplaceAll(stem, "/", "."))
			return ref, true
		}
	}
	return ref, false
}

// List implements [session.Store]: the files that are of one of the formats, by their
// first records. What else lies there is none of them.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := s.logs.NewLister()
	agents := map[string]bool{}
	var entry func(in *logfile.Dir, name string, depth int)
	entry = func(in *logfile.Dir, name string, depth int) {
		if in.HasDirectory(name) {
			if d := l.Below(in, name); d != nil && depth < deepest {
				defer d.Close()
				l.Each(d, func(name string) { entry(d, name, depth+1) })
			}
			return
		}
		if ref, ok := s.listed(l, in, name); ok {
			l.Add(ref)
			if !agents[ref.Agent] {
				agents[ref.Agent] = true
				l.Listing.Agents = append(l.Listing.Agents, ref.Agent)
			}
		}
	}
	err := l.Base(ctx, func(base *logfile.Dir, name string) { entry(base, name, 0) })
	return l.Listing, err
}

// listed is the reference of a file, if it is of one of the formats.
func (s *Store) listed(l *logfile.Lister, in *logfile.Dir, name string) (session.Ref, bool) {
	if _, ok := s.locate(name); !ok {
		return session.Ref{}, false
	}
	if format, err := logfile.FormatOf(in.At(name), session.HeadSize); err != nil || !Traits().Keeps(format) {
		return session.Ref{}, false
	}
	ref, ok := l.Located(in, name, "")
	ref.Primary = true
	return ref, ok
}

// File implements [session.Filer]: by the name that the file gives
// itself: its agent, and the id of its session. A file without one is called after its
// own name and its beginning, so that it is the same session wherever it lies.
func (s *Store) File(ctx context.Context, name string) (session.Ref, error) {
	l := s.logs.NewLister()
	in, err := s.logs.Top()
	if err != nil {
		return session.Ref{}, err
	}
	defer in.Close()
	ref, err := l.Look(in, name)
	if err != nil {
		return ref, err
	}
	head, err := logfile.Head(in.At(name), session.HeadSize)
	if err != nil {
		return ref, err
	}
	h := headOf(head)
	begins := sha256.Sum256(head[:min(len(head), idBytes)])
	stem := strings.TrimSuffix(name, path.Ext(name))
	ref.Agent, ref.ID, ref.Primary = session.CleanAgent(orElse(h.agent, "exchange")), session.CleanID(orElse(h.id(), stem+"-"+hex.EncodeToString(begins[:4]))), true
	return ref, ctx.Err()
}

// idBytes is how much of the beginning of a file its id is made of.
const idBytes = 1 << 10

func orElse(value, fallback string) string {
	if value != "" {
		return value
	}
	return fallback
}
