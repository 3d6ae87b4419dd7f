package claude

import (
	"os"
	"path/filepath"
	"strings"
)

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
	root := expand(getenv("CLAUDE_CONFIG_DIR"), home)
	if root == "" && home != "" {
		root = filepath.Join(home, ".claude")
	}
	if root == "" || !isDirectory(filepath.Join(root, projectsName)) {
		return nil
	}
	return []string{root}
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

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
