package work

import (
	"strings"
)

// maxNested is how many shells around a command are taken off.
const maxNested = 3

// unwrap returns the command line that a shell is called with: of
// bash -lc "go test ./..." what stands in the quotation marks. A line that does
// more than that stays as it is.
func unwrap(script string) string {
	script = strings.TrimSpace(script)
	for range maxNested {
		if first, _, _ := strings.Cut(script, " "); !isShell(first) && base(first) != "env" {
			return script
		}
		words, ok := shellWords(script)
		if !ok {
			return script
		}
		inner, ok := wrapped(words)
		if !ok {
			return script
		}
		script = strings.TrimSpace(inner)
	}
	return script
}

// commandOf returns a command that is a list of words as a line: what a shell
// among them runs, else the words with quotation marks where they need them.
func commandOf(words []string) string {
	if inner, ok := wrapped(words); ok {
		return inner
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// quote puts a word into quotation marks if a shell would read it as anything
// but itself.
func quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'\\$`|&;<>()*?#~[]{}!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// wrapped returns the script that a shell is called with. It is false for
// anything else, a script with arguments too.
func wrapped(words []string) (script string, ok bool) {
	if len(words) > 1 && base(words[0]) == "env" && isShell(words[1]) {
		words = words[1:]
	}
	if len(words) < 3 || !isShell(words[0]) {
		return "", false
	}
	switch base(words[0]) {
	case "cmd":
		return afterFlag(words[1:], "/c", "/k")
	case "powershell", "pwsh":
		return afterFlag(words[1:], "-command", "-c")
	}
	return afterC(words[1:])
}

// afterFlag returns what follows one of two flags, as one line: these shells
// put the rest of their words together.
func afterFlag(words []string, flag, other string) (string, bool) {
	for i, w := range words {
		if w = strings.ToLower(w); (w == flag || w == other) && i+1 < len(words) {
			return strings.Join(words[i+1:], " "), true
		}
	}
	return "", false
}

// afterC returns the one word that follows the options of a POSIX shell, if -c
// is one of them.
func afterC(words []string) (string, bool) {
	c := false
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		option := words[0]
		words = words[1:]
		if strings.HasPrefix(option, "--") {
			continue
		}
		c = c || strings.Contains(option, "c")
		if strings.HasSuffix(option, "o") && len(words) > 0 { // -o pipefail
			words = words[1:]
		}
	}
	if !c || len(words) != 1 {
		return "", false
	}
	return words[0], true
}

func isShell(word string) bool {
	switch base(word) {
	case "sh", "bash", "zsh", "dash", "ash", "ksh", "fish", "cmd", "powershell", "pwsh":
		return true
	}
	return false
}

// base is the name of a program without directories and ".exe".
func base(word string) string {
	word = word[strings.LastIndexAny(word, `/\`)+1:]
	return strings.TrimSuffix(strings.ToLower(word), ".exe")
}

// SimpleCommands splits a command line where a shell begins another command, and
// each command into its words without quotation marks. What a shell would expand
// or redirect stays as it is written. A line is read up to a quotation that does
// not end.
func SimpleCommands(script string) [][]string {
	all, _ := commandsOf(script)
	return all
}

// shellWords splits a line into words as a POSIX shell does. It is false for a
// line that is more than one simple command: pipes, lists, redirections and
// what a shell expands outside of double quotation marks.
func shellWords(line string) (words []string, ok bool) {
	switch all, plain := commandsOf(line); {
	case !plain:
		return nil, false
	case len(all) == 0:
		return nil, true
	default:
		return all[0], true
	}
}

// commandsOf is [SimpleCommands]; plain is false if the line is more than one of
// them, or holds what a shell expands or redirects.
func commandsOf(script string) (all [][]string, plain bool) {
	var words []string
	var word strings.Builder
	begun, plain := false, true
	endWord := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	endCommand := func() {
		if endWord(); len(words) > 0 {
			all = append(all, words)
		}
		words = nil
	}
	for i := 0; i < len(script); i++ {
		switch c := script[i]; c {
		case ' ', '\t':
			endWord()
			continue
		case '|', '&', ';', '(', ')', '\n':
			plain = false
			endCommand()
			continue
		case '\'', '"':
			n, closed := quotedLength(script[i:])
			if !closed {
				return all, false
			}
			word.WriteString(unquoted(script[i : i+n]))
			i += n - 1
		case '\\':
			if i++; i < len(script) {
				word.WriteByte(script[i])
			}
			plain = plain && i < len(script)
		default:
			plain = plain && strings.IndexByte("<>`$", c) < 0
			word.WriteByte(c)
		}
		begun = true
	}
	endCommand()
	return all, plain
}

// quotedLength is how long the quotation is that s begins with.
func quotedLength(s string) (n int, closed bool) {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return i + 1, true
		case s[i] == '\\' && s[0] == '"':
			i++
		}
	}
	return 0, false
}

// unquoted is what a quotation says.
func unquoted(s string) string {
	inside := s[1 : len(s)-1]
	if s[0] == '\'' || !strings.Contains(inside, `\`) {
		return inside
	}
	var b strings.Builder
	for i := 0; i < len(inside); i++ {
		if inside[i] == '\\' && i+1 < len(inside) && strings.IndexByte("$`\"\\\n", inside[i+1]) >= 0 {
			if i++; inside[i] == '\n' {
				continue
			}
		}
		b.WriteByte(inside[i])
	}
	return b.String()
}

// shellPatch is a patch that a command line applies.
type shellPatch struct {
	text      []byte
	directory string // where the line goes before, or empty
	alone     bool   // the line does nothing else
}

// The marks around a patch.
const (
	patchBegin = "*** Begin Patch"
	patchEnd   = "*** End Patch"
)

// patchOf returns the patch that a command line applies, as Codex lets a model
// do it:
//
//	cd pkg && apply_patch <<'EOF'
//	*** Begin Patch
//	...
//	*** End Patch
//	EOF
func patchOf(script string) (p shellPatch) {
	rest := script
	if before, after, ok := strings.Cut(rest, "&&"); ok && strings.HasPrefix(rest, "cd ") {
		if words, ok := shellWords(strings.TrimSpace(before)); ok && len(words) == 2 {
			p.directory, rest = words[1], strings.TrimSpace(after)
		}
	}
	name, rest, _ := strings.Cut(rest, " ")
	from, to := strings.Index(rest, patchBegin), strings.LastIndex(rest, patchEnd)
	if !isApplyPatch(name) || from < 0 || to < from || strings.Contains(strings.TrimSpace(rest[:from]), "\n") {
		return shellPatch{}
	}
	p.text = []byte(rest[from:to])
	behind := strings.Fields(strings.Trim(rest[to+len(patchEnd):], "'\"\n"))
	p.alone = len(behind) <= 1 // the word that ends the here-document
	return p
}

func isApplyPatch(word string) bool {
	return word == "apply_patch" || word == "applypatch"
}
