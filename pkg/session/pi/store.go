package pi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// maxVersion is the newest format that is rotated (research/formats.md
// section 3).
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
	defer d.close()
	log, err := d.open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	info, err := log.Stat()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("look at log: %w", err), log.Close())
	}
	return log, info, nil
}

// Busy implements [session.Rotator]. A session is busy when its log changed
// within quiet, when it is empty, shorter than it was when it was listed, or
// gone, and when its last line is torn or its last turn unanswered.
func (s *Store) Busy(ctx context.Context, ref session.Ref, now time.Time, quiet time.Duration) error {
	d, name, err := s.directoryOf(ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(ref.Path)
	}
	if err != nil {
		return err
	}
	defer d.close()
	info, err := d.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(ref.Path)
	}
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	if err := session.CheckQuiet(ref.Path, info, now, quiet); err != nil {
		return err
	}
	if err := session.CheckWhole(ref, info); err != nil {
		return err
	}
	tail, err := s.Tail(ctx, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(ref.Path)
	}
	if err != nil {
		return err
	}
	return session.CheckAnswered(ref.Path, tail)
}

func gone(path string) error {
	return &session.BusyError{Path: path, Reason: "it has been moved or removed since it was found"}
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

// rotatedMark is between the name of a log and the time when it was rotated.
const rotatedMark = ".rotated."

// stampForm is that time, in UTC.
const stampForm = "2006-01-02T15-04-05.000Z"

var rotatedName = regexp.MustCompile(`^(.+\.jsonl)\.rotated\.\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z$`)

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
	n = logName{name: name, live: name}
	if strings.Contains(name, rotatedMark) {
		if m := rotatedName.FindStringSubmatch(name); m != nil {
			n.live, n.rotated = m[1], true
		}
	}
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

// agentOf makes an agent's id of the name of a directory: the working
// directory's path with dashes, without the two dashes at each end.
func agentOf(directory string) string {
	name := strings.TrimPrefix(directory, "--")
	name = strings.TrimSuffix(name, "--")
	return session.CleanID(name)
}

// directory is one directory of sessions, opened so that no name in it leads
// out of the store.
type directory struct {
	root  *os.Root
	path  string // absolute
	agent string
}

// errNoDirectory is returned when a name of the store is that of a file.
var errNoDirectory = errors.New("not a directory")

// openDirectory opens a directory of the store by its name; "." is the
// sessions directory itself, which holds logs if pi was given it with
// --session-dir.
func (s *Store) openDirectory(store *os.Root, name string) (*directory, error) {
	// Looked at before it is opened: opening a pipe would wait for ever.
	info, err := store.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNoDirectory}
	}
	root, err := store.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.base, name)
	return &directory{root: root, path: path, agent: agentOf(filepath.Base(path))}, nil
}

// directoryOf opens the directory of a log by the log's absolute path.
func (s *Store) directoryOf(path string) (*directory, string, error) {
	below, err := filepath.Rel(s.base, path)
	if err != nil || !filepath.IsLocal(below) || strings.Count(filepath.ToSlash(below), "/") > 1 {
		return nil, "", fmt.Errorf("%s is not a session of the store %s", path, s.root)
	}
	store, err := os.OpenRoot(s.base)
	if err != nil {
		return nil, "", fmt.Errorf("open store: %w", err)
	}
	defer store.Close()
	d, err := s.openDirectory(store, filepath.Dir(below))
	if err != nil {
		return nil, "", fmt.Errorf("open the directory of %s: %w", path, err)
	}
	return d, filepath.Base(below), nil
}

func (d *directory) close() error { return d.root.Close() }

// at is the absolute path of a name, which is one word. There are many names,
// and filepath.Join looks at every byte of each path.
func (d *directory) at(name string) string {
	if os.IsPathSeparator(d.path[len(d.path)-1]) {
		return d.path + name
	}
	return d.path + string(filepath.Separator) + name
}

// open opens a regular file. It never follows a link and never waits.
func (d *directory) open(name string) (*os.File, error) { return durable.OpenRegularIn(d.root, name) }

func (d *directory) stat(name string) (os.FileInfo, error) { return d.root.Lstat(name) }

// statIfThere is stat, and nil for a file that is not there.
func (d *directory) statIfThere(name string) (os.FileInfo, error) {
	info, err := d.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", d.at(name), err)
	}
	return info, nil
}

// names lists a directory.
func names(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// inPlace checks that the path still leads to the directory that is open:
// what changes names works on paths.
func (d *directory) inPlace() error {
	byPath, err := os.Stat(d.path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", d.path, err)
	}
	opened, err := d.root.Stat(".")
	if err != nil {
		return fmt.Errorf("look at %s: %w", d.path, err)
	}
	if !os.SameFile(byPath, opened) {
		return &session.BusyError{Path: d.path, Reason: "another directory has taken its place"}
	}
	return nil
}

// unusable says, for people, why a file can be no session here; "" if it can.
func unusable(info os.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link: sessions are read only where they lie"
	case mode.IsDir():
		return "a directory with the name of a session"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe with the name of a session"
	case !mode.IsRegular():
		return "a device or socket with the name of a session"
	case durable.Identify(info).Links > 1:
		return "a file with several names (hard links): changing it would change something else"
	}
	return ""
}

// places says where the logs of this runtime lie: in the directory of a working
// directory, or in the sessions directory itself.
func (s *Store) places() logfile.Places {
	return logfile.Places{
		Base: s.base, Depth: 1, Store: s.root,
		Like: isLog,
		Log: func(below string) (session.Ref, bool) {
			n, ok, _ := parseName(path.Base(below))
			agent := path.Base(path.Dir(below))
			if agent == "." {
				agent = filepath.Base(s.base)
			}
			return session.Ref{Runtime: session.RuntimePi, Agent: agentOf(agent), ID: session.CleanID(n.id()), Kind: session.KindLive}, ok && !n.rotated
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
	defer d.close()
	if h, err := d.readHead(name); err == nil && h.Found {
		p.Ref.ID = session.CleanID(h.ID)
	}
	return p, nil
}

// Unused implements [session.Restorer]. pi takes no locks.
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
