package wording

import (
	"maps"
	"slices"
	"strings"
)

// commandFor is what is said to a word that is typed for a command and is none: one
// sentence with the command that does it.
var commandFor = map[string]string{
	"agents":    "sessctl sizes lists the sessions of every agent",
	"alert":     "sessctl monitor reports what needs a person, and sends it to the webhooks of the configuration",
	"api":       "sessctl serve answers over HTTP",
	"ask":       "sessctl recall \"QUESTION\" finds what was said",
	"audit":     "sessctl log lists what was done",
	"backup":    "sessctl archive --all copies every session, checked byte for byte",
	"cat":       "sessctl archives show ID prints an archived log",
	"check":     "sessctl doctor checks everything; sessctl archives verify reads the archives back",
	"cleanup":   "sessctl clean deletes old sessions, once they are archived and remembered",
	"clear":     "sessctl compact --agent NAME --clear archives the agent's session and begins a fresh one",
	"compress":  "sessctl compact makes the context of a session small",
	"context":   "sessctl replay-context prints what an agent would send to its model",
	"copy":      "sessctl archive --all copies every session, checked byte for byte",
	"cost":      "sessctl sizes shows how full every session's context is",
	"cron":      "sessctl schedule installs a timer",
	"daemon":    "sessctl serve watches the sessions and runs profiles by the clock",
	"delete":    "sessctl clean deletes old sessions, sessctl memory forget what is remembered",
	"df":        "sessctl usage shows what fills the disk",
	"diff":      "sessctl replay-context --check FILE compares what a model gets with a file, sessctl archives verify the archives with what was archived",
	"du":        "sessctl usage shows what fills the disk",
	"facts":     "sessctl extract-facts remembers what people asked to keep",
	"find":      "sessctl recall \"QUESTION\" finds what was said",
	"fix":       "sessctl doctor says what is wrong, and sessctl doctor --fix mends what it can",
	"fsck":      "sessctl doctor checks everything; sessctl archives verify reads the archives back",
	"gc":        "sessctl archives prune deletes old archives whose bytes are somewhere else too; sessctl clean deletes old sessions",
	"grep":      "sessctl recall \"WORDS\" --rank text finds words in what was said",
	"gui":       "sessctl browse shows the sessions on the terminal; sessctl report --html FILE writes a page",
	"health":    "sessctl status says whether anything is wrong",
	"history":   "sessctl log lists what was done",
	"info":      "sessctl status says how things are; sessctl version says which program this is",
	"init":      "sessctl browse shows what is there, without any settings; sessctl hook install tells a runtime of it",
	"keep":      "sessctl pin ID keeps a session from being deleted",
	"ls":        "sessctl sizes lists the sessions, sessctl archives list the archives",
	"new":       "sessctl compact --agent NAME --clear archives the agent's session and begins a fresh one",
	"open":      "sessctl browse shows the sessions on the terminal",
	"projects":  "sessctl sizes --sort agent lists the sessions of every project",
	"prune":     "sessctl archives prune deletes old archives whose bytes are somewhere else too",
	"purge":     "sessctl clean deletes old sessions, once they are archived and remembered",
	"query":     "sessctl recall \"QUESTION\" finds what was said",
	"remember":  "sessctl archive --all --remember puts every session into the archive and the memory",
	"repair":    "sessctl doctor says what is wrong, and sessctl doctor --fix mends what it can",
	"reset":     "sessctl compact --agent NAME --clear archives the agent's session and begins a fresh one",
	"rm":        "sessctl clean deletes old sessions, once they are archived and remembered",
	"save":      "sessctl archive --all copies every session, checked byte for byte",
	"search":    "sessctl recall \"QUESTION\" finds what was said",
	"server":    "sessctl serve answers over HTTP",
	"sessions":  "sessctl sizes lists the sessions and how full each is",
	"setup":     "sessctl browse shows what is there, without any settings; sessctl hook install tells a runtime of it",
	"size":      "sessctl sizes shows how full every session's context is",
	"snapshot":  "sessctl archive --all copies every session, checked byte for byte",
	"snapshots": "sessctl archives list lists the archives",
	"start":     "sessctl serve watches the sessions and runs profiles by the clock",
	"summarize": "sessctl compact writes a summary of a session, and makes it small",
	"sync":      "sessctl archives upload copies archives to object storage, sessctl push the memory to a shared one",
	"timer":     "sessctl schedule installs a timer",
	"tokens":    "sessctl sizes shows how full every session's context is",
	"top":       "sessctl sizes shows the fullest sessions first, sessctl browse the same on the whole screen",
	"tui":       "sessctl browse shows the sessions on the terminal",
	"ui":        "sessctl browse shows the sessions on the terminal",
	"vacuum":    "sessctl shrink says what the databases of runtimes would give back",
	"verify":    "sessctl archives verify reads the archives back, sessctl memory verify the memory",
	"view":      "sessctl browse shows the sessions on the terminal, sessctl archives show ID an archived log",
	"watch":     "sessctl monitor reports what needs a person, once or every few minutes",
	"webhook":   "sessctl events lists what was sent to webhooks and commands",
	"who":       "sessctl stores lists whose sessions are found",
	"work":      "sessctl brief says where an agent's work stands",
}

// CommandFor is a sentence that names the command for a word which is none, "" if
// nothing is known of the word.
func CommandFor(word string) string { return commandFor[word] }

// TypedWords are the words that [CommandFor] knows.
func TypedWords() []string { return slices.Sorted(maps.Keys(commandFor)) }

// Moved is a command line as it is written now that began with sessctl, "" if nothing
// of it ever had another place.
func Moved(args []string) string {
	compact := slices.Index(args, "compact")
	for i, word := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if compact < 0 || i < compact || !slices.Contains([]string{"--undo", "--shrink", "--resummarize"}, "--"+name) || name == word {
			continue
		}
		command, rest := []string{name}, args[i+1:]
		switch {
		case name == "shrink" && value != "report":
			command = append(command, strings.FieldsFunc(value, func(r rune) bool { return r == ',' })...)
		case name == "undo" && value != "":
			command = append(command, value)
		case name == "undo" && len(rest) > 0:
			command, rest = append(command, rest[0]), rest[1:]
		}
		return shellLine(slices.Concat(args[:compact], command, args[compact+1:i], rest))
	}
	i := slices.Index(args, "archive")
	if i < 0 || i+1 == len(args) {
		return ""
	}
	switch args[i+1] {
	case "restore":
		return shellLine(slices.Delete(slices.Clone(args), i, i+1))
	case "list", "show", "verify", "prune", "upload", "pull":
		return shellLine(slices.Concat(args[:i], []string{"archives"}, args[i+1:]))
	}
	return ""
}

// shellLine is a command line of sessctl for a shell of POSIX.
func shellLine(args []string) string {
	line := "sessctl"
	for _, word := range args {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,%@+") != "" {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		line += " " + word
	}
	return line
}
