package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/pflag"
)

// changedFlags are those of some flags that were typed.
func changedFlags(fs *pflag.FlagSet, names ...string) (typed []string) {
	for _, name := range names {
		if fs.Changed(name) {
			typed = append(typed, "--"+name)
		}
	}
	return typed
}

// renderWork prints what was done, in the shape of renderRecall.
func renderWork(a *app, o recall.Options, doc recall.Document) error {
	if a.JSON {
		if err := a.printJSON(doc); err != nil || len(doc.Work) > 0 {
			return err
		}
		return &failure.Outcome{Exit: failure.ExitFailed}
	}
	if doc.Notice != "" {
		a.Notice(workspace.Note{Message: doc.Notice})
	}
	if len(doc.Work) == 0 {
		a.Notice(recall.NothingFound(recall.Document{Query: doc.Query}))
		return &failure.Outcome{Exit: failure.ExitFailed}
	}
	p := recall.WorkPrinter{PassagePrinter: newPassagePrinter(a, doc.Query, o.Full), Source: recall.WorkSource}
	var b strings.Builder
	for i, h := range doc.Work {
		fmt.Fprintf(&b, "%d. %s\n", i+1, p.Hit(h))
	}
	_, err := io.WriteString(a.Out, recall.Quoted(b.String(), a.OutTTY))
	return err
}
