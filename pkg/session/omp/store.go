package omp

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// Store is one agent directory of omp, a [session.Store]. It holds nothing open
// and may be used by several goroutines at once.
type Store struct{ logfile.RotatingLogs }

// depth is how many directories a log lies below the root at most:
// archive/sessions/<directory>/<session>/<sub-agent>.jsonl.gz.
const depth = 4

// Open returns the store of an agent directory, or of the sessions directory in
// one.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	base := root
	if filepath.Base(root) == sessionsName && !logfile.IsDirectory(filepath.Join(root, sessionsName)) {
		base = filepath.Dir(root)
	}
	s := &Store{}
	s.Logs = logfile.Logs{
		Pin:  &logfile.Pin{},
		Name: session.RuntimeOMP, Store: base, Base: base, Depth: depth,
		Locate: locate,
	}
	s.ReadAll, s.ReadTail = s.Scan, s.readTail
	return s
}

const (
	sessionsName = "sessions"
	archiveName  = "archive" // of omp's own: gc --archive
	blobsName    = "blobs"
	logEnd       = ".jsonl"
	packedEnd    = ".jsonl.gz"
)

// Roots returns the agent directories of a user that hold sessions, each once:
// those of ~/.omp, of its profiles, and of $XDG_DATA_HOME/omp. The variable
// PI_CODING_AGENT_DIR, which omp shares with pi, names a store of pi.
func Roots(home string, getenv func(string) string) []string {
	var candidates []string
	if home != "" {
		candidates = append(candidates, filepath.Join(home, ".omp", "agent"))
		candidates = append(candidates, profiles(filepath.Join(home, ".omp"), "agent")...)
	}
	if data := logfile.Expand(getenv("XDG_DATA_HOME"), home); data != "" {
		candidates = append(candidates, filepath.Join(data, "omp"))
		candidates = append(candidates, profiles(filepath.Join(data, "omp"), "")...)
	}
	var holding []string
	for _, path := range candidates {
		if logfile.MayHold(filepath.Join(path, sessionsName)) {
			holding = append(holding, path)
		}
	}
	return logfile.Existing(holding...)
}

// profiles are the agent directories of the profiles in a directory of omp.
func profiles(dir, below string) (found []string) {
	all, err := os.ReadDir(filepath.Join(dir, "profiles"))
	switch {
	case logfile.Unreadable(filepath.Join(dir, "profiles")) != nil:
		return []string{filepath.Join(dir, "profiles")} // a store that cannot be listed tells of it
	case err != nil:
		return nil // there are none
	}
	for _, profile := range all {
		found = append(found, filepath.Join(dir, "profiles", profile.Name(), below))
	}
	return found
}

func (s *Store) readTail(ctx context.Context, log *os.File, info os.FileInfo, ref session.Ref) (session.Tail, error) {
	if strings.HasSuffix(ref.Path, packedEnd) {
		return session.TailScan(ctx, log, info.ModTime(), s.Scan)
	}
	return piformat.Tail(ctx, log, info.Size(), info.ModTime())
}

// Scan implements [session.Store]. What omp's gc has put away is compressed.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	plain, _, err := jsonl.Decompress(r, jsonl.Unsized)
	if err != nil {
		return session.Scan{}, err
	}
	defer plain.Close()
	return piformat.Scan(ctx, plain, o, func(m *session.Message) error {
		if m.Compaction {
			m.Sent = fmt.Appendf(nil, "Prior model work/tool state available.\nMUST build on prior work; NEVER duplicate prior work.\n\n<summary>\n%s\n</summary>", m.FirstText())
		}
		return emit(m)
	})
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	place, err := s.Logs.Place(ctx, path, now)
	if err == nil && strings.HasSuffix(place.Path, packedEnd) {
		place.Note = "omp does not resume what its gc has put away: gunzip it to its place below " + sessionsName
	}
	return place, err
}
