package pi

import (
	"os"
	"path/filepath"
	"strings"
)

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
