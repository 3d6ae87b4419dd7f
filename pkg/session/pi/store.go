package pi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
	"github.com/sessctl/sessctl/pkg/session/process"
)

// maxVersion is the newest format that is rotated (docs/dev/formats.md, "pi").
const maxVersion = 3

// Store is one sessions directory of pi, a [session.Store]. It holds nothing
// open and may be used by several goroutines at once.
type Store struct {
	logfile.RotatingLogs
	tailCache session.TailCache // nil: logs are listed by their beginnings alone
	workers   int               // directories that List reads at a time
	lookout   *lookout
}

// Open returns the store of a sessions directory, or of the agent directory
// that holds one.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	base := logfile.Within(root, sessionsName)
	s := &Store{lookout: &lookout{find: process.Find}}
	s.Logs = logfile.Logs{
		Pin:  &logfile.Pin{},
		Name: session.RuntimePi, Store: root, Base: base, Depth: 1,
		Locate:  func(below string) (session.Ref, bool) { return locate(base, below) },
		ReadAll: piformat.Scan, ReadTail: readTail,
	}
	return s
}

// WithSystem returns the same store, which does without some mechanisms of the
// system.
func (s *Store) WithSystem(system durable.System) *Store {
	other := *s
	other.System = system
	return &other
}

// withWorkers returns the same store, whose List reads as many directories at a
// time.
func (s *Store) withWorkers(n int) session.Store {
	other := *s
	other.workers = n
	return &other
}

// CountMessages implements [session.MessageCounter].
func (s *Store) CountMessages(ctx context.Context, ref session.Ref) (int, error) {
	return s.CountBy(ctx, ref, piformat.CountMessages)
}

func readTail(ctx context.Context, log *os.File, info os.FileInfo, _ session.Ref) (session.Tail, error) {
	return piformat.Tail(ctx, log, info.Size(), info.ModTime())
}

// Scan implements [session.Store].
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	return piformat.Scan(ctx, r, o, emit)
}

const (
	sessionsName = "sessions"
	logEnd       = ".jsonl"
)

// Roots returns the sessions directories of a user that exist, each once: that
// of PI_CODING_AGENT_DIR and ~/.pi/agent/sessions, and those that [Named] names.
func Roots(home string, getenv func(string) string) []string {
	var usual []string
	for _, agent := range agentDirectories(home, getenv) {
		usual = append(usual, filepath.Join(agent, sessionsName))
		for _, project := range projects(agent) {
			usual = append(usual, sessionDir(filepath.Join(agent, settingsName), project, home))
		}
	}
	return logfile.Existing(append(usual, Named(home, getenv)...)...)
}

func agentDirectories(home string, getenv func(string) string) (agents []string) {
	if agent := logfile.Expand(getenv("PI_CODING_AGENT_DIR"), home); agent != "" {
		agents = append(agents, agent)
	}
	if home != "" {
		agents = append(agents, filepath.Join(home, ".pi", "agent"))
	}
	return agents
}

// Named are the directories where pi is told to keep sessions, whether they exist or
// not: by its settings (sessionDir), by those of projects, and by
// PI_CODING_AGENT_SESSION_DIR.
func Named(home string, getenv func(string) string) (named []string) {
	for _, agent := range agentDirectories(home, getenv) {
		named = append(named, sessionDir(filepath.Join(agent, settingsName), "", home))
		for _, project := range projects(agent) {
			named = append(named, sessionDir(filepath.Join(project, ".pi", settingsName), project, home))
		}
	}
	named = append(named, logfile.Expand(getenv("PI_CODING_AGENT_SESSION_DIR"), home))
	return slices.DeleteFunc(named, func(path string) bool { return path == "" })
}

const settingsName = "settings.json"

// projects are the directories whose settings pi reads when it works there, as far as
// that can be known: those that the user has told it to trust, and the one of this
// process. pi asks before it trusts one, and one that asked nobody has no trust.json.
func projects(agent string) (all []string) {
	var trusted map[string]any
	text, err := os.ReadFile(filepath.Join(agent, "trust.json"))
	_ = json.Unmarshal(text, &trusted) // one that pi cannot read trusts nothing
	for path, is := range trusted {
		if is == true && filepath.IsAbs(path) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	here, wrong := os.Getwd()
	within := func(path string) bool {
		return here == path || strings.HasPrefix(here, path+string(filepath.Separator))
	}
	if wrong == nil && (errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(all, within)) && !slices.Contains(all, here) && trusted[here] != false {
		all = append(all, here)
	}
	return all
}

// sessionDir is where settings have pi keep its sessions, "" for the usual place. What
// is not absolute is below the directory that pi works in, or nowhere.
func sessionDir(settings, project, home string) string {
	text, err := os.ReadFile(settings)
	if err != nil {
		return ""
	}
	var said struct {
		SessionDir string `json:"sessionDir"`
	}
	_ = json.Unmarshal(text, &said) // one that pi cannot read says nothing
	dir := said.SessionDir
	if dir == "" || filepath.IsAbs(dir) || strings.HasPrefix(dir, "~") {
		return logfile.Expand(dir, home)
	}
	if project == "" {
		return ""
	}
	return filepath.Join(project, dir)
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
	return session.CleanAgent(name)
}

// locate reads where a log lies: in the directory of a working directory, or in
// the sessions directory itself, if pi was given that with --session-dir.
func locate(base, below string) (session.Ref, bool) {
	n, ok, _ := parseName(path.Base(below))
	agent := path.Base(path.Dir(below))
	if agent == "." {
		agent = filepath.Base(base)
	}
	return session.Ref{Agent: agentNamed(agent), ID: session.CleanID(n.id()), Kind: session.KindLive}, ok && !n.rotated
}

// Place implements [session.Restorer]. A rotated name, which is this tool's,
// stands for the log's own.
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	p, err := s.Logs.Place(ctx, path, now)
	if err != nil || !p.There {
		return p, err
	}
	d, name, err := s.Directory(p.Path)
	if err != nil {
		return p, err
	}
	defer d.Close()
	h, err := readHead(d, name)
	if err != nil || !h.Found {
		return p, nil
	}
	p.Ref.ID = session.CleanID(h.ID)
	said, err := messages(ctx, d, name)
	p.Blank = err == nil && said == 0 && p.Ref.Bytes <= piformat.HeaderRoom
	return p, nil
}
