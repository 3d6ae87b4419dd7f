package grok

import (
	"net/url"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/readonly"
)

const (
	sessionsName  = "sessions"
	logName       = "updates.jsonl"
	summaryName   = "summary.json"
	subagentsName = "subagents"
	summaryBytes  = 64 << 10 // more than any summary seen
)

// Open returns the store of a .grok directory, or of its sessions.
func Open(root string) *readonly.Store {
	return readonly.Open(readonly.Runtime{
		Traits: Traits(), Base: sessionsName, Patterns: []string{"*/*/" + logName},
		Locate: locate, Describe: func(string) readonly.Describer { return describe }, New: newScanner, Command: "/compact in the session makes its context small",
	}, root)
}

// Roots returns $GROK_HOME, or else the .grok directory of a user, if it has sessions:
// other programs keep settings in one.
func Roots(home string, getenv func(string) string) []string {
	if other := getenv("GROK_HOME"); filepath.IsAbs(other) {
		return logfile.Holding(filepath.Dir(other), filepath.Base(other), sessionsName)
	}
	return logfile.Holding(home, ".grok", sessionsName)
}

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeGrok, Homes: []string{"~/.grok"}, Variables: []string{"GROK_HOME"},
		Formats: []session.Format{session.FormatGrok}, SummaryStyle: session.StyleCheckpoint, ReadOnly: true,
	}
}

// locate reads where a log lies. The name of a directory is the working directory, or a
// part of it if that is long.
func locate(parts []string) session.Ref {
	cwd, err := url.PathUnescape(parts[0])
	if err != nil {
		cwd = parts[0]
	}
	return session.Ref{Agent: session.AgentOfDirectory(cwd, sessionsName), ID: parts[1]}
}

// summary is what the summary of a session says.
type summary struct{ cwd, title, kind []byte }

var summaries = fields.New(func(x *summary) []fields.Field {
	return []fields.Field{fields.Text("info.cwd", &x.cwd), fields.Text("generated_title", &x.title), fields.Text("session_kind", &x.kind)}
})

// describe reads the summary of a session, and finds the session whose sub-agent it is:
// only that one's files say so.
func describe(dirs []*logfile.Dir, ref *session.Ref) {
	x := summary{}
	summaries.Peek(&x, new(jsonl.Cursor), readonly.Head(dirs[2], summaryName, summaryBytes))
	readonly.WorksIn(ref, x.cwd)
	if ref.Title = string(x.title); string(x.kind) != "subagent" {
		return
	}
	ref.Kind = session.KindSubagent
	others, _ := dirs[1].Names() // one that cannot be read is told by the listing
	for _, other := range others {
		if _, err := dirs[1].Root.Lstat(filepath.Join(other, subagentsName, ref.ID)); err == nil && session.SafeID(other) {
			ref.Parent = other
			return
		}
	}
}
