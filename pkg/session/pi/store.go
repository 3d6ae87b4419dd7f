package pi

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// maxVersion is the newest format that is rotated (docs/formats.md, "pi").
const maxVersion = 3

// Store is one sessions directory of pi, a [session.Store]. It holds nothing
// open and may be used by several goroutines at once.
type Store struct {
	root string // as it was opened
	base string // the sessions directory
	// step is called after each step of Rotate, with its name; an error ends
	// the rotation there. Tests stop it so.
	step      func(name string) error
	system    durable.System
	tailCache session.TailCache // nil: logs are listed by their beginnings alone
	workers   int               // directories that List reads at a time
}

// Open returns the store of a sessions directory, or of the agent directory
// that holds one.
func Open(root string) *Store {
	if absolute, err := filepath.Abs(root); err == nil {
		root = absolute
	}
	return &Store{root: root, base: sessionsDirectory(root), step: func(string) error { return nil }}
}

// WithSystem returns the same store, which does without some mechanisms of the
// system.
func (s *Store) WithSystem(system durable.System) *Store {
	other := *s
	other.system = system
	return &other
}

// WithWorkers returns the same store, whose List reads as many directories at a
// time.
func (s *Store) WithWorkers(n int) session.Store {
	other := *s
	other.workers = n
	return &other
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimePi }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// Tail implements [session.Store].
func (s *Store) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	log, info, err := s.openLog(ref)
	if err != nil {
		return session.Tail{}, err
	}
	defer log.Close()
	return piformat.Tail(ctx, log, info.Size(), info.ModTime())
}

// Scan implements [session.Store].
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	return piformat.Scan(ctx, r, o, emit)
}

// CountMessages returns the number of messages in a log, exactly.
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	log, info, err := s.openLog(ref)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	return piformat.CountMessages(ctx, io.NewSectionReader(log, 0, info.Size()))
}

func (s *Store) openLog(ref session.Ref) (*os.File, os.FileInfo, error) {
	d, name, err := s.directoryOf(ref.Path)
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	return d.OpenLog(name)
}

// Busy implements [session.Rotator]. A session is busy when its log changed
// within quiet, when it is empty, shorter than it was when it was listed, or
// gone, and when its last line is torn or its last turn unanswered.
func (s *Store) Busy(ctx context.Context, ref session.Ref, now time.Time, quiet time.Duration) error {
	d, name, err := s.directoryOf(ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return logfile.Gone(ref.Path)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Busy(ctx, name, logfile.Question{Ref: ref, Now: now, Quiet: quiet, Tail: s.Tail})
}

const (
	sessionsName = "sessions"
	logEnd       = ".jsonl"
)

// Roots returns the sessions directories of a user that exist, each once: that
// of PI_CODING_AGENT_DIR and ~/.pi/agent/sessions.
func Roots(home string, getenv func(string) string) []string {
	var candidates []string
	if agent := expand(getenv("PI_CODING_AGENT_DIR"), home); agent != "" {
		candidates = append(candidates, filepath.Join(agent, sessionsName))
	}
	if home != "" {
		candidates = append(candidates, filepath.Join(home, ".pi", "agent", sessionsName))
	}
	var found []string
	var seen os.FileInfo
	for _, path := range candidates {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() || seen != nil && os.SameFile(seen, info) {
			continue
		}
		found, seen = append(found, path), info
	}
	return found
}

// expand makes a path from the environment absolute; ~ is the home directory.
func expand(path, home string) string {
	if path == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		path = filepath.Join(home, rest)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	return absolute
}

// sessionsDirectory is the sessions directory for a path that is one, or that
// is the agent directory which holds one.
func sessionsDirectory(path string) string {
	below := filepath.Join(path, sessionsName)
	if info, err := os.Stat(below); err == nil && info.IsDir() {
		return below
	}
	return path
}

// logName is what the name of a file in a directory of sessions says.
type logName struct {
	name    string
	live    string // the name that it has, or had, as a log
	rotated bool   // moved aside by Rotate, and not settled yet
}

// parseName reads a name by the allow-list: "<safe id>.jsonl", which is all
// that pi reads, and what Rotate makes of it. odd is true for a log whose name
// is not safe.
func parseName(name string) (n logName, ok, odd bool) {
	n = logName{name: name}
	n.live, n.rotated = logfile.OriginalName(name)
	stem, isLog := strings.CutSuffix(n.live, logEnd)
	if !isLog || strings.HasPrefix(name, ".") {
		return logName{}, false, false
	}
	if !session.SafeID(stem) {
		return logName{}, false, true
	}
	return n, true, false
}

// id is the session's id by its file name.
func (n logName) id() string { return strings.TrimSuffix(n.live, logEnd) }

// agentOf is the agent whose logs a directory holds.
func agentOf(d *logfile.Dir) string { return agentNamed(filepath.Base(d.Path)) }

// agentNamed makes an agent's id of the name of a directory: the working
// directory's path with dashes, without the two dashes at each end.
func agentNamed(directory string) string {
	name := strings.TrimPrefix(directory, "--")
	name = strings.TrimSuffix(name, "--")
	return session.CleanID(name)
}

// directoryOf opens the directory of a log by the log's absolute path: one of
// the sessions directory, or that itself, which holds logs if pi was given it
// with --session-dir.
func (s *Store) directoryOf(path string) (*logfile.Dir, string, error) {
	return logfile.Of(s.base, path, 1)
}

// places says where the logs of this runtime lie: in the directory of a working
// directory, or in the sessions directory itself.
func (s *Store) places() *logfile.Logs {
	return &logfile.Logs{
		Name: session.RuntimePi, Base: s.base, Depth: 1, Store: s.root,
		Like: isLog,
		Locate: func(below string) (session.Ref, bool) {
			n, ok, _ := parseName(path.Base(below))
			agent := path.Base(path.Dir(below))
			if agent == "." {
				agent = filepath.Base(s.base)
			}
			return session.Ref{Agent: agentNamed(agent), ID: session.CleanID(n.id()), Kind: session.KindLive}, ok && !n.rotated
		},
	}
}

// isLog reports whether a name is that of a log, or of one that was moved aside.
func isLog(name string) bool {
	_, ok, _ := parseName(name)
	return ok
}

// Place implements [session.Restorer]. A rotated name, which is this tool's,
// stands for the log's own.
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	p, err := s.places().Place(ctx, path, now)
	if err != nil || !p.There {
		return p, err
	}
	d, name, err := s.directoryOf(p.Path)
	if err != nil {
		return p, err
	}
	defer d.Close()
	if h, err := readHead(d, name); err == nil && h.Found {
		p.Ref.ID = session.CleanID(h.ID)
	}
	return p, nil
}

// Unused implements [session.Restorer]. pi takes no locks.
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
