package claude

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// agentStart begins the names of sub-agents' logs.
const agentStart = "agent-"

// logName is what the name of a file in a directory of logs says.
type logName struct {
	name     string
	stem     string
	subagent bool
}

// parseName reads a name by the allow-list: "<safe id>.jsonl". odd is true for
// a log whose name is not safe in a path.
func parseName(name string) (n logName, ok, odd bool) {
	stem, isLog := strings.CutSuffix(name, logEnd)
	if !isLog || strings.HasPrefix(name, ".") {
		return logName{}, false, false
	}
	if !session.SafeID(stem) {
		return logName{}, false, true
	}
	return logName{name: name, stem: stem, subagent: strings.HasPrefix(stem, agentStart)}, true, false
}

// agentOf makes an agent's id of the name of a project: the working
// directory's path with dashes, without the dashes in front.
func agentOf(project string) string {
	return session.CleanID(strings.TrimLeft(project, "-"))
}

// projectOf is the name that the runtime gives to the directory of the
// sessions of a working directory: every character but letters and digits is
// a dash.
func projectOf(cwd string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, cwd)
}
