package claude

import (
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Store is one configuration directory of Claude Code. It is a
// [session.Store], [session.Liveness], [session.Adviser] and
// [session.Restorer], holds nothing open and may be used by several goroutines
// at once. It has no way to change a session: one that was deleted can be put
// back.
type Store struct {
	root     string // as it was opened
	config   string // the configuration directory
	projects string // where the directories of sessions are
	// runs reports whether a process runs that was started by then. Tests
	// replace it.
	runs func(pid int, by time.Time) bool
}

// depth is how far below the projects a log lies:
// <project>/<session>/subagents/agent-<id>.jsonl.
const depth = 3

// Open returns the store of a configuration directory, or of a directory of
// projects.
func Open(root string) *Store {
	if absolute, err := filepath.Abs(root); err == nil {
		root = absolute
	}
	s := &Store{root: root, config: root, projects: filepath.Join(root, projectsName), runs: processRuns}
	if !isDirectory(s.projects) {
		s.config, s.projects = filepath.Dir(root), root
	}
	return s
}

// Runtime implements [session.Store].
func (s *Store) Runtime() string { return session.RuntimeClaude }

// Root implements [session.Store].
func (s *Store) Root() string { return s.root }

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "type /compact in it to make it small, or /clear to start afresh"
}
