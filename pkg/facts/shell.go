package facts

import (
	"path"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/work"
)

// maxCommands bounds the simple commands of a line that are looked at.
const maxCommands = 24

// programs are the simple commands of a line, each from its program on.
func programs(script string) (all [][]string) {
	commands := work.SimpleCommands(script)
	for _, words := range commands[:min(len(commands), maxCommands)] {
		words = withoutAssignments(words)
		if len(words) > 1 && path.Base(words[0]) == "sudo" {
			words = withoutAssignments(afterSudo(words))
		}
		if len(words) > 0 {
			all = append(all, words)
		}
	}
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
