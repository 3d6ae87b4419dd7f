package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
)

// runTypes reads every log in full and says what fills it.
func runTypes(ctx context.Context, a *app, sessions []workspace.Found) error {
	databases := selection.DatabasesOf(ctx, a.Run, sessions)
	logs := slices.DeleteFunc(sessions, func(s workspace.Found) bool { return s.Kind == session.KindDatabase })
	t, err := selection.TypesOf(ctx, &a.Run.Settings, logs, true)
	if err != nil {
		return err
	}
	for i, err := range t.Failed {
		selection.TellUnread(a.Run, logs[i].Path, err)
	}
	t.Doc.Databases = databases
	return renderTypes(a, t.Doc)
}

func renderTypes(a *app, doc selection.TypesDocument) error {
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	t := table{empty: "no records", columns: []column{
		{name: "RUNTIME", drop: 1}, {name: "TYPE", least: 16}, {name: "RECORDS", right: true}, {name: "SIZE", right: true}, {name: "SHARE", right: true},
	}}
	rows := make([][]string, 0, len(doc.Types)+1)
	for _, r := range doc.Types {
		size, share := wording.Bytes(r.Bytes), fmt.Sprintf("%.1f%%", r.Percent)
		rows = append(rows, []string{r.Runtime, wording.Visible(r.Type), strconv.Itoa(r.Records), size, share})
		t.rows = append(t.rows, []string{r.Runtime, r.Type, wording.Count(int64(r.Records)), size, share})
	}
	t.footer = fmt.Sprintf("%s in %s; base64 %s (%.1f%%), repeated text %s (%.1f%%)", wording.Bytes(doc.Bytes), wording.Plural(doc.Sessions, "log"),
		wording.Bytes(doc.Base64), selection.PercentOf(doc.Base64, doc.Bytes), wording.Bytes(doc.Duplicate), selection.PercentOf(doc.Duplicate, doc.Bytes))
	if err := a.printList(t, append(rows, []string{t.footer})); err != nil {
		return err
	}
	if err := printTold(a, doc); err != nil {
		return err
	}
	return printDatabases(a, doc.Databases)
}

// printTold says whose words agents are told.
func printTold(a *app, doc selection.TypesDocument) error {
	v := doc.Told
	if v.Messages == 0 {
		return nil
	}
	_, err := fmt.Fprintf(a.Out, "agents are told %s: people said %.1f%%, pasted %.1f%%; programs put %.1f%%%s\n", wording.Bytes(v.Bytes),
		selection.PercentOf(v.Said, v.Bytes), selection.PercentOf(v.Pasted, v.Bytes), selection.PercentOf(v.Program, v.Bytes), v.Copies())
	return err
}
