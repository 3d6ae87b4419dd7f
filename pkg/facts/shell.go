package facts

import (
	"slices"
	"strings"
)

// maxCommands bounds the simple commands of a line that are looked at.
const maxCommands = 24

// simpleCommands splits a command line at what joins commands, as a shell does,
// and each into its words without quotation marks. What a shell would expand
// stays as it is written.
func simpleCommands(script string) [][]string {
	var all [][]string
	var words []string
	var word strings.Builder
	begun := false
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
	for i := 0; i < len(script) && len(all) < maxCommands; i++ {
		switch c := script[i]; c {
		case ' ', '\t':
			endWord()
		case ';', '|', '&', '\n', '(', ')':
			endCommand()
		case '\'', '"':
			begun = true
			end := strings.IndexByte(script[i+1:], c)
			if end < 0 {
				return all
			}
			word.WriteString(script[i+1 : i+1+end])
			i += end + 1
		case '\\':
			if i++; i < len(script) {
				word.WriteByte(script[i])
				begun = true
			}
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	endCommand()
	return all
}

// assignment matches a variable that is set for one command.
var assignment = expression(`^[A-Za-z_]\w*=`)

// withoutAssignments drops what is set for one command only.
func withoutAssignments(words []string) []string {
	for len(words) > 0 && (assignment().MatchString(words[0]) || words[0] == "time" || words[0] == "env" || words[0] == "exec") {
		words = words[1:]
	}
	return words
}

// afterSudo is what sudo runs.
func afterSudo(words []string) []string {
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-u" || w == "-g":
			i++
		case strings.HasPrefix(w, "-"):
		default:
			return words[i:]
		}
	}
	return nil
}

// flagValues are the flags of a command with their values. Flags that take a
// password are not among them.
type flagValues []flagValue

type flagValue struct{ name, value string }

var secretFlag = expression(`(?i)pass|secret|token|key|auth|^-a$`)

func flagsOf(arguments []string) flagValues {
	var all flagValues
	for i, a := range arguments {
		if !strings.HasPrefix(a, "-") || len(a) < 2 || secretFlag().MatchString(a) {
			continue
		}
		name, value, joined := strings.Cut(a, "=")
		switch {
		case joined:
		case i+1 < len(arguments) && !strings.HasPrefix(arguments[i+1], "-"):
			value = arguments[i+1]
		}
		if value != "" {
			all = append(all, flagValue{name, value})
		}
	}
	return all
}

// first is the value of the first flag that has one of these names.
func (f flagValues) first(names ...string) string {
	i := slices.IndexFunc(f, func(v flagValue) bool { return slices.Contains(names, v.name) })
	if i < 0 || !flagValuePattern().MatchString(f[i].value) {
		return ""
	}
	return f[i].value
}

var flagValuePattern = expression(`^[\w.:/@-]{1,80}$`)
