package state

import (
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/work"
)

// commandWords returns the words of a command without what only leads to it: another
// host, another user, a directory, variables.
func commandWords(command string) []string {
	if at := strings.Index(command, " && "); at > 0 && strings.HasPrefix(command, "cd ") {
		command = command[at+4:]
	}
	words := strings.Fields(command[:min(len(command), 300)])
	for len(words) > 0 {
		switch first := strings.Trim(words[0], `"'`); {
		case first == "ssh" && len(words) > 2:
			words = words[2:]
		case first == "sudo" && len(words) > 3 && words[1] == "-u":
			words = words[3:]
		case slices.Contains([]string{"sudo", "time", "env", "npx", "timeout"}, first) || strings.Contains(first, "=") && len(words) > 1:
			words = words[1:]
		default:
			return words
		}
	}
	return words
}

// Verb is what a command does: its program, and the first of its words that is no
// option ("go test", "git push"). A command that runs something of a project has a
// word more: "npm run build" is not "npm run publish".
func Verb(command string) string {
	words := commandWords(command)
	if len(words) == 0 {
		return strings.TrimSpace(command)
	}
	program := strings.Trim(words[0][strings.LastIndexByte(words[0], '/')+1:], `"'`)
	verb := program
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") || strings.ContainsAny(w, "/'\"=.|>$(") {
			continue
		}
		if verb += " " + w; w != "run" && w != "exec" && w != "compose" {
			break
		}
	}
	return verb
}

// Looks tells whether a command only looks for something, so that its failure says no
// more than that nothing was found.
func Looks(command string) bool {
	words := commandWords(command)
	return len(words) > 0 && slices.Contains([]string{"grep", "egrep", "rg", "ag", "diff", "cmp", "test", "[", "pgrep", "which", "ls", "find", "command"}, strings.Trim(words[0], `"'`))
}

// shown are the files that a command prints: those that it names to cat, sed, head and
// the like.
func shown(command string) (paths []string) {
	for _, words := range work.SimpleCommands(command) {
		if len(words) < 2 || !slices.Contains([]string{"cat", "sed", "head", "tail", "nl", "less", "bat", "Get-Content", "type"}, words[0]) {
			continue
		}
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !strings.ContainsAny(w, " *|<>$,;()") && strings.ContainsAny(w, "./") && strings.Trim(w, "0123456789.") != "" {
				paths = append(paths, w)
			}
		}
	}
	return paths
}
