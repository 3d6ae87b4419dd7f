package antigravity

import (
	"bytes"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/readonly"
)

const (
	brainName    = "brain"
	historyName  = "history.jsonl"
	historyBytes = 4 << 20 // what is read of the prompts that were typed
	logsPlace    = "*/.system_generated/logs/"
)

// names are what a transcript is called, the whole one first.
func names() []string { return []string{"transcript_full.jsonl", "transcript.jsonl", "overview.txt"} }

// Open returns the store of one directory of Antigravity.
func Open(root string) *readonly.Store {
	of := readonly.Runtime{
		Traits: Traits(), Base: brainName, Either: names(),
		Locate: locate, Describe: described, New: newScanner, Command: "Antigravity makes the context of a conversation small by itself",
	}
	for _, name := range names() {
		of.Patterns = append(of.Patterns, logsPlace+name)
	}
	return readonly.Open(of, root)
}

// Roots returns the directories of Antigravity in that of the Gemini CLI.
func Roots(home string, _ func(string) string) (roots []string) {
	if home == "" {
		return nil
	}
	found, _ := filepath.Glob(filepath.Join(home, ".gemini", "antigravity*", brainName)) // the pattern is ours
	for _, brain := range found {
		roots = append(roots, filepath.Dir(brain))
	}
	return logfile.Existing(roots...)
}

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeAntigravity, Homes: []string{"~/.gemini/antigravity*"}, Formats: []session.Format{session.FormatAntigravity},
		SummaryStyle: session.StyleCheckpoint, ReadOnly: true,
	}
}

// locate reads where a transcript lies.
func locate(parts []string) session.Ref { return session.Ref{Agent: brainName, ID: parts[0]} }

// prompt is one line of what was typed.
type prompt struct{ id, workspace []byte }

var prompts = fields.New(func(x *prompt) []fields.Field {
	return []fields.Field{fields.Text("conversationId", &x.id), fields.Text("workspace", &x.workspace)}
})

// described finds the directory that a conversation is about in what was typed.
func described(root string) readonly.Describer {
	places := placesIn(root)
	return func(_ []*logfile.Dir, ref *session.Ref) { readonly.WorksIn(ref, []byte(places[ref.ID])) }
}

// placesIn are the directories of conversations, by their ids.
func placesIn(root string) map[string]string {
	places := map[string]string{}
	dir, err := logfile.Open(root)
	if err != nil {
		return places
	}
	defer dir.Close()
	for line := range bytes.Lines(readonly.Head(dir, historyName, historyBytes)) {
		x := prompt{}
		if prompts.Peek(&x, new(jsonl.Cursor), line); len(x.id) > 0 && len(x.workspace) > 0 {
			places[string(x.id)] = string(x.workspace)
		}
	}
	return places
}
