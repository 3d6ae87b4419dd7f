package flat

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Store is one such directory, a [session.Store]. It holds nothing open and may be used
// by several goroutines at once.
type Store struct {
	logfile.Logs
	reader session.Store // of the runtime
}

// ends are how names of logs end. Those that a session of a runtime has beside its log
// are told apart by what is in them.
func ends() []string {
	return []string{".jsonl", ".jsonl.gz", ".jsonl.zst", ".messages.json", ".json", ".md"}
}

// Open returns the store of a directory in which logs lie that a runtime's own store
// reads, where that finds no session in it. It returns the runtime's own store where it
// does, and where no such log lies in it directly. path is the directory as it was named:
// the runtime's own store may be another, above or below it.
func Open(ctx context.Context, own session.Store, path string) session.Store {
	s := &Store{reader: own}
	s.Logs = logfile.Logs{Name: own.Runtime(), Store: path, Base: path, Locate: s.locate, Owned: true, ReadAll: own.Scan}
	if !s.holdsLogs() {
		s.Store, s.Base = own.Root(), own.Root()
	}
	if !s.holdsLogs() {
		return own
	}
	if listing, err := own.List(ctx); len(listing.Refs) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return own // what is wrong with it is told when it is listed
	}
	if closer := own.Capabilities().Closer; closer != nil {
		_ = closer.Close() // nothing was read
	}
	return s
}

// holdsLogs reports whether a log lies in the directory.
func (s *Store) holdsLogs() bool {
	names, err := os.ReadDir(s.Base)
	return err == nil && slices.ContainsFunc(names, func(entry os.DirEntry) bool { return s.isLog(entry.Name()) })
}

// isLog reports whether a file is a log of the runtime, by its name and its first
// records.
func (s *Store) isLog(name string) bool {
	if _, ok := s.locate(name); !ok {
		return false
	}
	format, err := logfile.FormatOf(filepath.Join(s.Base, name), session.HeadSize)
	traits := s.reader.Capabilities().Traits
	return err == nil && (slices.Contains(traits.Formats, format) || slices.Contains(traits.Kin, format))
}

// locate reads where a log lies. One that is called the same in every session has the
// name of its directory.
func (s *Store) locate(below string) (session.Ref, bool) {
	directory := session.CleanAgent(filepath.Base(s.Base))
	ref := session.Ref{Agent: directory, Kind: session.KindLive}
	for _, end := range ends() {
		stem, ok := strings.CutSuffix(below, end)
		if !ok || stem == "" || strings.HasPrefix(stem, ".") || strings.Contains(stem, "/") {
			continue
		}
		switch ref.ID = session.CleanID(stem); stem {
		case "session", "events", "api_conversation_history", "wire", "updates", "transcript_full", "transcript":
			ref.ID = session.CleanID(filepath.Base(s.Base))
		}
		return ref, true
	}
	return ref, false
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	own := s.reader.Capabilities()
	return session.Capabilities{
		Traits: own.Traits, Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Counter: s, Restorer: s, Context: own.Context, Attacher: own.Attacher,
	}
}

// List implements [session.Store]: the logs in the order of their names.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := s.NewLister()
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		if ref, ok := l.Located(base, name, ""); ok && s.isLog(name) {
			ref.Primary = true
			l.Add(ref)
		}
	})
	if len(l.Listing.Refs) > 0 {
		l.Listing.Agents = []string{l.Listing.Refs[0].Agent}
	}
	return l.Listing, err
}

// Scan implements [session.Store] as the runtime's own store does.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	return s.reader.Scan(ctx, r, o, emit)
}
