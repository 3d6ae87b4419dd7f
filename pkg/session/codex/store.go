package codex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/process"
)

// Store is one home directory of Codex, a [session.Store]: sessions are read,
// never changed; one that is gone can be put back. It holds nothing open and may
// be used by several goroutines at once.
type Store struct{ logfile.Logs }

// Open returns the store of a Codex home, or of a directory of rollouts.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	s := &Store{logfile.Logs{Name: session.RuntimeCodex, Store: root, Base: root, Depth: deepest, Owned: true}}
	s.Locate, s.ReadAll, s.ReadTail = s.locate, s.Scan, readTail
	return s
}

// Roots returns the Codex homes of a user that hold rollouts, each once: that
// of CODEX_HOME, else ~/.codex.
func Roots(home string, getenv func(string) string) []string {
	root := getenv("CODEX_HOME")
	if root == "" && home != "" {
		root = filepath.Join(home, ".codex")
	}
	if root == "" {
		return nil
	}
	for _, name := range []string{sessionsName, archivedName} {
		if logfile.MayHold(filepath.Join(root, name)) {
			return []string{root}
		}
	}
	return nil
}

// OwnCommand implements [session.Adviser]. A thread that Codex has put away has
// no context to make small.
func (s *Store) OwnCommand(ref session.Ref) string {
	if ref.Kind == session.KindArchived {
		return ""
	}
	return "/compact in the session makes its context small, codex archive " + ref.ID + " puts it away"
}

// deepest is how many directories a rollout lies below the root:
// sessions/YYYY/MM/DD.
const deepest = 4

// readTail reads the end of a rollout. That of a compressed one can only be read
// by decompressing all of it.
func readTail(ctx context.Context, log *os.File, info os.FileInfo, _ session.Ref) (session.Tail, error) {
	compressed, err := isCompressed(log)
	if err != nil {
		return session.Tail{}, fmt.Errorf("read the log: %w", err)
	}
	if !compressed {
		return Tail(ctx, log, info.Size(), 0, info.ModTime())
	}
	end, err := readEnd(ctx, log, info.Size())
	if err != nil {
		return session.Tail{}, err
	}
	return Tail(ctx, end.text, end.text.Size(), end.base, info.ModTime())
}

// Busy implements [session.Liveness]. A session is busy while the lock that
// Codex holds on a thread it writes is there, shortly after a change, and while
// its last turn is not answered.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	if lock := s.lockOf(q.Ref.ID); lock != "" {
		return &session.BusyError{Path: q.Ref.Path, Reason: heldBy(lock)}
	}
	return s.Logs.Busy(ctx, q)
}

// lockOf returns the path of the lock that Codex has put on a thread, "" if
// there is none. It is there from the first record to the end of the program, and
// stays if that is killed: one from before the machine was started holds nobody.
// .coordination.lock beside it stays and says nothing.
func (s *Store) lockOf(thread string) string {
	path := filepath.Join(s.Root(), "thread-writer-locks", thread+".lock")
	info, err := os.Lstat(path)
	if err != nil || (process.Claim{Since: info.ModTime()}).Standing() == process.Over {
		return ""
	}
	return path
}

func heldBy(lock string) string {
	return session.ReasonCodexHere.Text(lock)
}

const (
	sessionsName = "sessions"
	archivedName = "archived_sessions"
	plainEnd     = ".jsonl"
	coldEnd      = ".jsonl.zst"
	// noAgent is the agent of threads that name no working directory.
	noAgent = "codex"
)

// rolloutName is the allow-list of names: the local time of the start and the
// id of the thread (docs/dev/formats.md, "codex").
var rolloutName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^rollout-(?:\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-)?([A-Za-z0-9][A-Za-z0-9._-]{0,127}?)(\.jsonl|\.jsonl\.zst)$`)
})

// rolloutDocument is the name of a thread of 2025 that is one JSON object.
var rolloutDocument = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^rollout-.*\.json$`) })

// threadOf returns the id of the thread by the name of its rollout.
func threadOf(name string) (id string, ok bool) {
	m := rolloutName().FindStringSubmatch(name)
	if m == nil || !session.SafeID(m[1]) {
		return "", false
	}
	return m[1], true
}

// locate reads where a rollout lies.
func (s *Store) locate(below string) (session.Ref, bool) {
	id, ok := threadOf(path.Base(below))
	ref := session.Ref{Agent: noAgent, ID: id, Kind: session.KindLive}
	area, _, _ := strings.Cut(below, "/")
	switch area {
	case archivedName:
		ref.Kind = session.KindArchived
	case sessionsName:
	default:
		ok = ok && !logfile.IsDirectory(filepath.Join(s.Root(), sessionsName)) // a directory of rollouts
	}
	return ref, ok
}

// Place implements [session.Restorer]. A rollout that Codex has compressed, or
// uncompressed, since it was archived is there under its other name.
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	place, err := s.Logs.Place(ctx, path, now)
	if err != nil || place.There {
		return place, err
	}
	other := place.Path + strings.TrimPrefix(coldEnd, plainEnd)
	if plain, cold := strings.CutSuffix(place.Path, coldEnd); cold {
		other = plain + plainEnd
	}
	if _, err := os.Lstat(other); !errors.Is(err, fs.ErrNotExist) {
		return place, logfile.Unsupported(path, session.ReasonOtherCodex.Text(filepath.Base(other)))
	}
	place.Note = "Codex lists its threads from a database of its own, and may not show this one there"
	return place, nil
}
