package openclaw

import (
	"os"
	"path/filepath"
	"strings"
)

// Roots returns the state directories of a user that exist, each once: those
// that OPENCLAW_STATE_DIR, CLAWDBOT_STATE_DIR and OPENCLAW_HOME name, those of
// profiles (~/.openclaw-<profile>, if they hold agents), and those of the
// runtime's earlier names (research/formats.md section 4.1).
func Roots(home string, getenv func(string) string) []string {
	candidates := []string{
		expand(getenv("OPENCLAW_STATE_DIR"), home),
		expand(getenv("CLAWDBOT_STATE_DIR"), home),
	}
	if other := expand(getenv("OPENCLAW_HOME"), home); other != "" {
		candidates = append(candidates, filepath.Join(other, ".openclaw"))
	}
	if home != "" {
		candidates = append(candidates, filepath.Join(home, ".openclaw"))
		candidates = append(candidates, profiles(home)...)
		for _, name := range []string{".clawdbot", ".moldbot", ".moltbot"} {
			candidates = append(candidates, filepath.Join(home, name))
		}
	}
	return existing(candidates)
}

// profiles returns the state directories that `openclaw --profile` makes.
func profiles(home string) []string {
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(home, e.Name())
		if strings.HasPrefix(e.Name(), ".openclaw-") && isDirectory(filepath.Join(path, agentsName)) {
			found = append(found, path)
		}
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

// existing returns the directories among paths, without a second name of one
// that is there already.
func existing(paths []string) []string {
	var found []string
	var seen []os.FileInfo
next:
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "" || err != nil || !info.IsDir() {
			continue
		}
		for _, other := range seen {
			if os.SameFile(other, info) {
				continue next
			}
		}
		found, seen = append(found, path), append(seen, info)
	}
	return found
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
