package kimi

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/readonly"
)

const (
	sessionsName = "sessions"
	mainAgent    = "main"
	logEnd       = ".jsonl"
	stateName    = "state.json"
	stateBytes   = 64 << 10 // more than any state seen
)

// Open returns the store of a directory of Kimi Code or kimi-cli, or of its sessions.
func Open(root string) *readonly.Store {
	return readonly.Open(readonly.Runtime{
		Traits: Traits(), Base: sessionsName, Patterns: []string{"*/*/agents/*/wire.jsonl", "*/*/context.jsonl", "*/*/context_*.jsonl"},
		Locate: locate, Describe: func(string) readonly.Describer { return describe }, New: newScanner, Command: "/compact in the session makes its context small",
	}, root)
}

// Roots returns the directories of a user: those that variables name, or else those in
// the home directory.
func Roots(home string, getenv func(string) string) []string {
	var roots []string
	for _, place := range [][2]string{{"KIMI_CODE_HOME", ".kimi-code"}, {"KIMI_SHARE_DIR", ".kimi"}} {
		root := logfile.Expand(getenv(place[0]), home)
		if root == "" && home != "" {
			root = filepath.Join(home, place[1])
		}
		if root != "" && logfile.MayHold(filepath.Join(root, sessionsName)) {
			roots = append(roots, root)
		}
	}
	return logfile.Existing(roots...)
}

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeKimi, Homes: []string{"~/.kimi-code", "~/.kimi"}, Variables: []string{"KIMI_CODE_HOME", "KIMI_SHARE_DIR"},
		Formats: []session.Format{session.FormatKimi}, SummaryStyle: session.StyleCheckpoint, ReadOnly: true,
	}
}

// locate reads where a log lies: that of a session, of one of its sub-agents, or the
// context that a session of kimi-cli had before a compaction.
func locate(parts []string) session.Ref {
	ref := session.Ref{Agent: session.CleanAgent(parts[0]), ID: parts[1]}
	switch number, before := strings.CutPrefix(parts[2], "context_"); {
	case before:
		ref.Kind, ref.Parent = session.KindCheckpoint, ref.ID
		ref.ID += "." + strings.TrimSuffix(number, logEnd)
	case len(parts) > 3 && parts[3] != mainAgent:
		ref.Kind, ref.Parent = session.KindSubagent, ref.ID
		ref.ID += "." + parts[3]
	}
	return ref
}

// state is what the state of a session says.
type state struct{ cwd, title []byte }

var states = fields.New(func(x *state) []fields.Field {
	return []fields.Field{fields.Text("cwd", &x.cwd), fields.Text("title", &x.title)}
})

// describe reads the state of a session, which lies in its directory.
func describe(dirs []*logfile.Dir, ref *session.Ref) {
	i := slices.IndexFunc(dirs, func(d *logfile.Dir) bool { return filepath.Base(d.Path) == strings.SplitN(ref.ID, ".", 2)[0] })
	if i < 0 {
		return
	}
	x := state{}
	states.Peek(&x, new(jsonl.Cursor), readonly.Head(dirs[i], stateName, stateBytes))
	readonly.WorksIn(ref, x.cwd)
	ref.Title = string(x.title)
}
