package summarize

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/work"
)

// Bounds of what is remembered of commands and their failures.
const (
	commandRunes = 120 // of a command in the summary
	maxCommands  = 512 // when there are more, the older half goes
	maxFailures  = 48
	errorLines   = 3
	errorRunes   = 160 // of one line of an error
)

// commands are the commands that ran, and everything that failed.
type commands struct {
	byText   map[string]*command
	failures []failure
	fresh    bool // nothing was called since the last failure, and nothing was said
}

type command struct {
	text  string
	line  int // of the last run
	runs  int
	last  outcome
	score int
}

// failure is a call that did not work.
type failure struct {
	what    string // Markdown
	command string // "" if it was no command
	verb    string // what it does, by [verbOf]
	exit    string
	line    int
	text    []byte   // what was printed
	lines   []string // the lines of it that are told, as Markdown
	fixed   int      // line of the run that worked later, or 0
	by      string   // the run that worked, if it is another one, as Markdown
	why     string   // what the agent said of it next
	people  int      // messages of people before it
	words   []string // of the call and what it printed
	watched int      // how many texts are still looked at for a word of it
	spoken  bool     // somebody spoke of it
}

// Bounds of the look for somebody who speaks of a failure.
const (
	failureWords = 24
	watchedTexts = 4
	spokenWords  = 2
)

// heard takes in what somebody says in lower case: it may be about the last failures.
func (c *commands) heard(lower string) {
	fresh := c.fresh
	c.fresh = false
	for i := len(c.failures) - 1; i >= 0 && i >= len(c.failures)-watchedTexts; i-- {
		f := &c.failures[i]
		if f.watched == 0 || f.spoken || f.fixed > 0 {
			continue
		}
		f.watched--
		shared, in := 0, within(f.words)
		for _, stem := range stemsOf(lower) {
			if in(stem) {
				shared++
			}
		}
		f.spoken = shared >= spokenWords || fresh && shared > 0 && i == len(c.failures)-1 // said right after it
	}
}

// ran counts a run of a command. A run that works settles the failures of the
// same command, or of one that begins with it or that it begins with.
func (c *commands) ran(text string, line int, o outcome) {
	if c.byText == nil {
		c.byText = map[string]*command{}
	}
	key := oneLine(redact(text), commandRunes)
	known := c.byText[key]
	if known == nil {
		known = &command{text: key, score: weight(key)}
		c.byText[key] = known
	}
	known.line, known.last = line, o
	known.runs++
	c.fresh = false
	if !o.failed && len(c.failures) > 0 {
		c.settles(text, line)
		if at := strings.LastIndex(text, "&& "); at > 0 { // what was to be done stands behind what leads to it
			c.settles(text[at+3:], line)
		}
	}
	if len(c.byText) > maxCommands {
		for _, old := range c.sorted()[maxCommands/2:] {
			delete(c.byText, old.text)
		}
	}
}

// settles marks the failures that a run which worked has put right: those of the
// same command, or of one that begins with it or that it begins with, or of the
// same verb of the same program.
func (c *commands) settles(text string, line int) {
	if len(c.failures) == 0 {
		return
	}
	verb := verbOf(text)
	for i := range c.failures {
		f := &c.failures[i]
		if f.fixed > 0 || f.command == "" {
			continue
		}
		same := strings.HasPrefix(f.command, text) || strings.HasPrefix(text, f.command)
		if same || verb != "" && verb == f.verb {
			f.fixed = line
		}
		if !same && f.fixed > 0 {
			f.by = code(oneLine(redact(text), commandRunes/2))
		}
	}
}

// settlesCall marks the failures of a tool that is no command which a later call
// of the same tool, on the same file if it has one, has put right.
func (c *commands) settlesCall(title string, line int) {
	for i := range c.failures {
		if f := &c.failures[i]; f.command == "" && f.fixed == 0 && f.what == title {
			f.fixed = line
		}
	}
}

// explained notes what the agent says before its next call: why the last call
// failed, mostly.
func (c *commands) explained(text []byte) {
	if n := len(c.failures); n > 0 && c.failures[n-1].why == "" && c.failures[n-1].fixed == 0 {
		eachSentence(text, func(s sentence) {
			lower := bytes.ToLower(s.text)
			if c.failures[n-1].why == "" && !announces(lower) && !guesses().in(lower) && wordCount(s.text) >= resultWords {
				c.failures[n-1].why = oneLine(string(s.text), whyRunes)
			}
		})
	}
}

// whyRunes is how much is told of why something failed, in code points.
const whyRunes = 140

// words returns the words of a command without what only leads to it: another
// host, another user, a directory, variables.
func commandWords(text string) []string {
	if at := strings.Index(text, " && "); at > 0 && strings.HasPrefix(text, "cd ") {
		text = text[at+4:]
	}
	words := strings.Fields(string(cut([]byte(text), 300)))
	for len(words) > 0 {
		switch first := words[0]; {
		case first == "ssh" && len(words) > 2:
			words = words[2:]
		case first == "sudo" && len(words) > 3 && words[1] == "-u":
			words = words[3:]
		case first == "sudo" || first == "time" || first == "env" || first == "npx" || strings.Contains(first, "=") && len(words) > 1:
			words = words[1:]
		default:
			return words
		}
	}
	return words
}

// verbOf is what a command does: its program, and the first of its words that is
// no option. It is "" for a shell's own words.
func verbOf(text string) string {
	words := commandWords(text)
	if len(words) == 0 || words[0] == "for" || words[0] == "cd" {
		return ""
	}
	program := words[0][strings.LastIndexByte(words[0], '/')+1:]
	verb := program
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") || strings.ContainsAny(w, "/'\"=.|>") {
			continue
		}
		if verb += " " + w; w != "run" && w != "exec" && w != "compose" { // "npm run build" is not "npm run publish"
			break
		}
	}
	return verb
}

// weight tells commands that change something from those that only look.
func weight(text string) int {
	words := commandWords(text)
	if glances(words) && !strings.Contains(text, ">") && !strings.Contains(text, "<<") {
		return -3
	}
	for _, w := range []string{"commit", "push", "deploy", "install", "migrate", "restart", "publish", "merge", "release", "rm ", "mv ", "restore", "apply", "upgrade", "drop", "enable", "disable", "render"} {
		if strings.Contains(text, w) {
			return 2
		}
	}
	for _, w := range []string{"test", "build", "check", "lint", "vet", "run"} {
		if strings.Contains(text, w) {
			return 1
		}
	}
	return 0
}

// glances tells whether a command only looks.
func glances(words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "ls", "cat", "pwd", "cd", "echo", "head", "tail", "grep", "rg", "find", "wc", "which", "file", "stat", "tree", "sleep", "df", "du", "ps", "nl", "less", "jq", "awk", "date", "whoami", "env", "id", "uname", "test", "type":
		return true
	case "sed":
		return len(words) > 1 && words[1] == "-n"
	case "git":
		return len(words) > 1 && slices.Contains([]string{"status", "diff", "log", "show", "branch", "blame", "remote", "rev-parse", "ls-files"}, words[1])
	case "kubectl", "docker":
		return slices.ContainsFunc(words, func(w string) bool { return w == "get" || w == "describe" || w == "logs" || w == "ps" || w == "images" })
	}
	return false
}

// sorted returns the commands with the newest first.
func (c *commands) sorted() []*command {
	return slices.SortedFunc(maps.Values(c.byText), func(a, b *command) int {
		return cmp.Or(b.line-a.line, strings.Compare(a.text, b.text))
	})
}

// failed remembers a failure. When there are too many, one that was put right
// goes first, and the oldest of those.
func (c *commands) failed(f failure) {
	f.lines = errorText(f.text)
	f.text = nil
	if len(f.lines) == 0 && onlyLooks(f.command) || len(f.lines) == 1 && f.lines[0] == code("Command aborted") { // by a person, who knows
		return
	}
	f.command = string(cut([]byte(f.command), argumentBytes))
	f.verb = verbOf(f.command)
	f.words, f.watched = stemsOf(f.what+" "+strings.Join(f.lines, " ")), watchedTexts
	f.words = f.words[:min(len(f.words), failureWords)]
	c.failures = append(c.failures, f)
	c.fresh = true
	if len(c.failures) <= maxFailures {
		return
	}
	oldest := slices.IndexFunc(c.failures, func(f failure) bool { return f.fixed > 0 })
	if oldest < 0 {
		oldest = 0
	}
	c.failures = slices.Delete(c.failures, oldest, oldest+1)
}

// onlyLooks tells whether a command that failed silently has only found nothing.
func onlyLooks(command string) bool {
	last := strings.TrimSpace(command[strings.LastIndexAny(command, "|;&")+1:])
	return looks(last) || looks(command) && !strings.Contains(command, "&&") && !strings.Contains(command, ";") // grep "a\|b"
}

func looks(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	switch first {
	case "grep", "egrep", "rg", "ag", "diff", "cmp", "test", "[", "pgrep", "which":
		return true
	}
	return false
}

// errorText picks the lines of an output that tell what went wrong, as they
// were printed.
func errorText(text []byte) []string {
	var told, all []string
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if work.TellsExit(line) || len(line) == 0 || string(line) == "(no output)" {
			continue
		}
		quoted := code(oneLine(string(cut(line, 4*errorRunes)), errorRunes))
		if len(told) < errorLines && tellsError(line) && !slices.Contains(told, quoted) {
			told = append(told, quoted)
		}
		if all = append(all, quoted); len(all) > 2 {
			all = all[1:]
		}
	}
	if len(told) == 0 {
		return all
	}
	return told
}

// tellsError looks for the words that errors are told with.
func tellsError(line []byte) bool {
	return errorWords().in(bytes.ToLower(line))
}

var errorWords = phraseSet(
	"error", "fail", "fatal", "panic", "denied", "refused", "cannot", "can't", "could not", "couldn't", "not found", "no such", "exception", "undefined",
	"invalid", "unable", "timeout", "timed out", "conflict", "killed", "traceback", "in use", "missing", "unexpected", "violat", "exceed", "no space", "not accepted", "mismatch", "want ",
)

// putRight tells whether what failed after so many messages of people was all put
// right later.
func (c *commands) putRight(people int) bool {
	failed := false
	for i := range c.failures {
		if f := &c.failures[i]; f.people == people {
			if failed = true; f.fixed == 0 {
				return false
			}
		}
	}
	return failed
}

// candidates returns the commands, most important first: what changes
// something, what was run more than once, and the newest.
func (c *commands) candidates(inFocus func([]byte) int) []candidate {
	var out []candidate
	for _, known := range c.sorted() {
		text := code(known.text) + " " + known.last.text()
		if known.runs > 1 {
			text += ", run " + strconv.Itoa(known.runs) + " times"
		}
		score := known.score + min(known.runs, 2) + 4*inFocus([]byte(known.text))
		if known.score < 0 && score < 4 { // it only looks
			continue
		}
		if known.last.failed { // told as an error, with its exit code
			score -= 2
		}
		out = append(out, candidate{text: text, line: known.line, score: score})
	}
	sortByScore(out)
	return out
}

// failureCandidates returns the failures, most important first: those that
// were not put right, and the newest. One that was not put right, and that
// nobody has come back to for several turns, is over in another way if somebody
// spoke of it when it failed: what they said of it stands elsewhere. Of a command
// of which nobody ever spoke nobody knows.
func (c *commands) failureCandidates(x extent, inFocus func([]byte) int) []candidate {
	var out []candidate
	for i := len(c.failures) - 1; i >= 0; i-- {
		f := &c.failures[i]
		text, score := f.what, 6
		if f.exit != "" && f.exit != "failed" {
			text = f.exit + " from " + text
		}
		if len(f.lines) > 0 {
			text += ": " + f.told()
		}
		if f.fixed > 0 && glances(commandWords(f.command)) { // it looked elsewhere
			continue
		}
		if f.fixed > 0 {
			text += f.fix()
			score = 1
		} else if f.spoken && x.people-f.people >= spokenTurns {
			continue
		} else if x.people-f.people >= goneTurns && f.line < x.lastLine-x.lastLine/4 {
			if f.spoken || f.command == "" || f.ofMeans() {
				continue
			}
			text += neverMentioned
		}
		if f.why != "" {
			score++
		}
		out = append(out, candidate{text: text, line: f.line, score: score + 4*inFocus([]byte(text))})
	}
	sortByScore(out)
	return out
}

// told are the first lines of what was printed, no more than a section has room for.
func (f *failure) told() string {
	text := f.lines[0]
	for _, line := range f.lines[1:] {
		if utf8.RuneCountInString(text)+utf8.RuneCountInString(line) > toldErrorRunes {
			break
		}
		text += " " + line
	}
	return text
}

// toldErrorRunes is how long the lines of an error are together, beyond the first one.
const toldErrorRunes = 220

// ofMeans tells whether a command failed for want of a program, a file, a host or a
// permission. Work that went on without a word about that found another way.
func (f *failure) ofMeans() bool {
	return strings.HasSuffix(f.exit, " 127") || means().inString(strings.ToLower(strings.Join(f.lines, " "))) || strings.HasPrefix(f.command, "which ") || strings.HasPrefix(f.command, "command -v ")
}

// means are the words by which programs say that something they need is missing.
var means = phraseSet("not found", "no such file", "cannot open", "can't open", "error opening", "not installed", "could not resolve",
	"no route to", "unreachable", "refused", "timed out", "timeout", "permission denied", "no module named", "unknown option", "usage:")

// neverMentioned is put behind a failure that nobody has ever spoken of.
const neverMentioned = ", not mentioned again"

// goneTurns is after how many messages of people a failure that nobody came back
// to is over.
const goneTurns = 3

// spokenTurns is the same for a failure that somebody spoke of at once.
const spokenTurns = 2

// fix tells how a failure was put right.
func (f *failure) fix() string {
	text := workedLater + strconv.Itoa(f.fixed)
	if f.by != "" {
		text += " (" + f.by + ")"
	}
	if f.why != "" {
		text += " → " + f.why
	}
	return text
}

func containsAny(text []byte, words []string) bool {
	for _, w := range words {
		if bytes.Contains(text, []byte(w)) {
			return true
		}
	}
	return false
}
