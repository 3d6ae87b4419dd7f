package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/process"
)

// Store is one configuration directory of Claude Code, a [session.Store].
// Sessions are read and never changed; one that was deleted can be put back. It
// holds nothing open and may be used by several goroutines at once.
type Store struct {
	logfile.Logs
	config string // the configuration directory
	// runs reports whether a process runs that was started by then. Tests
	// replace it.
	runs    func(pid int, by time.Time) bool
	prompts historyLines
}

// depth is how far below the projects a log lies:
// <project>/<session>/subagents/agent-<id>.jsonl.
const depth = 3

// Open returns the store of a configuration directory, or of a directory of
// projects.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	s := &Store{config: root, runs: process.Runs, Logs: logfile.Logs{
		Name: session.RuntimeClaude, Store: root, Base: filepath.Join(root, projectsName), Depth: depth,
		Locate: locate, Owned: true, ReadTail: readTail,
	}}
	if !logfile.MayHold(s.Base) {
		s.config, s.Base = filepath.Dir(root), root
	}
	s.ReadAll = s.Scan
	return s
}

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "type /compact in it to make it small, or /clear to start afresh"
}

const (
	projectsName  = "projects"
	sessionsName  = "sessions" // of the files that say which process runs what
	subagentsName = "subagents"
	resultsName   = "tool-results"
	settingsName  = "settings.json"
	logEnd        = ".jsonl"
)

// Roots returns the configuration directories of a user that hold projects,
// each once: those of CLAUDE_CONFIG_DIR, else ~/.claude.
func Roots(home string, getenv func(string) string) []string {
	root := logfile.Expand(getenv("CLAUDE_CONFIG_DIR"), home)
	if root == "" && home != "" {
		root = filepath.Join(home, ".claude")
	}
	if root == "" || !logfile.MayHold(filepath.Join(root, projectsName)) {
		return nil
	}
	return []string{root}
}

// agentStart begins the names of sub-agents' logs.
const agentStart = "agent-"

// isMeta reports whether a file says how a sub-agent was begun: its kind, its task, and the
// call.
func isMeta(name string) bool {
	return strings.HasPrefix(name, agentStart) && strings.HasSuffix(name, ".meta.json")
}

// logName is what the name of a file in a directory of logs says.
type logName struct {
	name     string
	stem     string
	subagent bool
}

// parseName reads a name by the allow-list: "<safe id>.jsonl". odd is true for
// a log whose name is not safe in a path.
func parseName(name string) (n logName, ok, odd bool) {
	stem, isLog := strings.CutSuffix(name, logEnd)
	if !isLog || strings.HasPrefix(name, ".") {
		return logName{}, false, false
	}
	if !session.SafeID(stem) {
		return logName{}, false, true
	}
	return logName{name: name, stem: stem, subagent: strings.HasPrefix(stem, agentStart)}, true, false
}

// agentOf makes an agent's id of the name of a project: the working
// directory's path with dashes, without the dashes in front.
func agentOf(project string) string {
	return session.CleanAgent(strings.TrimLeft(project, "-"))
}

// agentIn is the agent of a project whose logs tell the working directory. The
// name of the project has lost all letters but those of ASCII: where there were
// others the agent is named after the working directory.
func agentIn(project, cwd string) string {
	if session.FolderOf(cwd) != project || strings.IndexFunc(cwd, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return agentOf(project)
	}
	return agentOf(strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(cwd))
}

// defaultPeriod is how long Claude Code keeps a session that nobody uses
// unless cleanupPeriodDays says otherwise.
const defaultPeriod = 30

// maxPeriod is more days than a duration can hold, by far.
const maxPeriod = 36_500

// period returns how long after its last change the runtime deletes a log, when
// it is started next. Only the user's own settings are looked at. With an
// error it is 0: not known.
func (s *Store) period() (time.Duration, error) {
	const day = 24 * time.Hour
	d, err := logfile.Open(s.config)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	raw, _, err := d.ReadSmall(settingsName)
	if errors.Is(err, fs.ErrNotExist) {
		return defaultPeriod * day, nil
	}
	if err != nil {
		return 0, err
	}
	var settings struct {
		Days *float64 `json:"cleanupPeriodDays"`
	}
	if err := json.Unmarshal(raw, &settings); err != nil {
		return 0, fmt.Errorf("read %s: %w", settingsName, err)
	}
	if settings.Days == nil || *settings.Days < 0 {
		return defaultPeriod * day, nil
	}
	return time.Duration(min(*settings.Days, maxPeriod) * float64(day)), nil
}

// locate reads the place of a log, of a sub-agent's log, or of an output.
func locate(below string) (session.Ref, bool) {
	parts := strings.Split(below, "/")
	name := parts[len(parts)-1]
	n, isLog, _ := parseName(name)
	ref := session.Ref{Agent: agentOf(parts[0]), ID: n.stem, Kind: session.KindLive}
	if n.subagent {
		ref.Kind = session.KindSubagent
	}
	switch {
	case len(parts) == 2:
		return ref, isLog
	case len(parts) != 4 || !session.SafeID(parts[1]):
		return ref, false
	case parts[2] == subagentsName && !isMeta(name):
		ref.Parent = parts[1]
		return ref, isLog && n.subagent
	}
	ref.Parent, ref.Kind, ref.ID = parts[1], session.KindOutput, session.CleanID(parts[1]+"."+name)
	return ref, (parts[2] == resultsName || parts[2] == subagentsName) && session.SafeID(name)
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	place, err := s.Logs.Place(ctx, path, now)
	if err != nil {
		return place, err
	}
	if period, err := s.period(); err == nil && period > 0 {
		place.Note = fmt.Sprintf("Claude Code deletes it again when nobody has used it for %.0f days (cleanupPeriodDays)", period.Hours()/24)
	}
	return place, nil
}
