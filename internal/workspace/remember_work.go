package workspace

import (
	"path"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/work"
)

// WithAction is a record with what it says was done, if it says that, and the
// identity of that.
func WithAction(ids *memory.ActionIDs, r memory.Record, a *work.Action) memory.Record {
	if a == nil {
		return r
	}
	r.Action = memoryAction(a)
	r.ID = ids.Next(*r.Action, a.Time)
	return r
}

// memoryAction is an action as memory keeps it: what is done the same way has the
// same subject, whoever did it.
func memoryAction(a *work.Action) *memory.Action {
	x := &memory.Action{
		Kind: string(a.Kind), Tool: a.Tool, SpanFrom: a.Span.From, SpanTo: a.Span.To,
		Answered: a.Answered, Failed: a.Failed, HasExit: a.HasExit, Exit: a.Exit, Errors: strings.Join(a.Errors, "\n"), EndedAt: a.Ended,
		ResultFirstLine: a.Result.FirstLine, ResultLastLine: a.Result.LastLine, ResultFirstByte: a.Result.FirstByte, ResultEndByte: a.Result.EndByte,
	}
	switch a.Kind {
	case work.KindCommand:
		x.Subject, x.Place = a.Command, a.Directory
	case work.KindSearch:
		x.Subject, x.Place = a.Query, within(a.Directory, a.Path)
	case work.KindFetch:
		x.Subject = a.URL
	default:
		x.Subject = within(a.Directory, a.Path)
	}
	return x
}

// within is a path in a directory, as the log names both: it may be that of
// another system. What is no path of a file stays as it is.
func within(directory, name string) string {
	rooted := strings.HasPrefix(name, "/") || strings.HasPrefix(name, `\`) || strings.HasPrefix(name, "~") || strings.Contains(name, ":")
	switch {
	case name == "" || directory == "" || rooted:
		return name
	case strings.Contains(directory, `\`):
		return strings.TrimSuffix(directory, `\`) + `\` + strings.TrimPrefix(name, `.\`)
	}
	return path.Join(directory, name)
}
