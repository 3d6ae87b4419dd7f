package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/spf13/cobra"
)

func newUsageCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "usage",
		Short: "Show what sessions, archives, memory and trash take on the disk",
		Long: `Add up what is on the disk: the logs that runtimes go on with, those that they
have closed, archives, memory, what waits in the trash, and the records of what
was done; and what compaction has saved. Nothing is changed, and no log is read.`,
		Example: `  sessctl usage
  sessctl usage --runtime openclaw
  sessctl usage --json`,
		RunE: func(c *cobra.Command, _ []string) error { return runUsage(c.Context(), a) },
	}
}

func runUsage(ctx context.Context, a *app) error {
	u := &audit.Usage{App: a.Run, Doc: audit.UsageDocument{Schema: 1, Runtimes: []audit.RuntimeUse{}}}
	for _, count := range []func(context.Context) error{u.Sessions, u.Data, u.Archives, u.Trash, u.Saved} {
		if err := count(ctx); err != nil {
			return err
		}
	}
	d := &u.Doc
	d.Ours = d.Archives.Bytes + d.Memory.Bytes + d.Trash.Bytes + d.SetAside.Bytes + d.Records.Bytes
	slices.SortFunc(d.Runtimes, func(x, y audit.RuntimeUse) int { return strings.Compare(x.Runtime, y.Runtime) })
	return renderUsage(a, u)
}

func renderUsage(a *app, u *audit.Usage) error {
	d := &u.Doc
	d.Notes = a.Notes
	if a.JSON {
		return a.printJSON(d)
	}
	t := table{columns: []column{{name: "WHAT"}, {name: "FILES", right: true, drop: 2}, {name: "SIZE", right: true}, {name: "", least: 12, drop: 1}}}
	var rows [][]string
	for _, part := range []struct {
		what string
		use  audit.DiskUse
		more string
	}{
		{"live logs", d.Live, u.ByRuntime(func(r audit.RuntimeUse) int64 { return r.Live.Bytes })},
		{"closed logs", d.Closed, u.ByRuntime(func(r audit.RuntimeUse) int64 { return r.Closed.Bytes })},
		{"archives", d.Archives, u.ByRuntime(func(r audit.RuntimeUse) int64 { return r.Archives.Bytes })},
		{"memory", d.Memory, ""},
		{"trash", d.Trash, ""},
		{"set aside", d.SetAside, ""},
		{"records", d.Records, ""},
		{"total", audit.DiskUse{Files: d.Files(), Bytes: d.Ours + d.Live.Bytes + d.Closed.Bytes}, wording.Bytes(d.Ours) + " without the logs"},
	} {
		rows = append(rows, []string{part.what, strconv.Itoa(part.use.Files), strconv.FormatInt(part.use.Bytes, 10), part.more})
		t.rows = append(t.rows, []string{part.what, wording.Count(int64(part.use.Files)), wording.Bytes(part.use.Bytes), part.more})
	}
	t.footer = fmt.Sprintf("saved: %s tokens and %s of logs by %s; archives are %s smaller than what they copy",
		wording.Count(d.Saved.Tokens), wording.Bytes(d.Saved.LogBytes), wording.Plural(d.Saved.Compactions, "compaction"), wording.Bytes(d.Saved.Compressed))
	return a.printList(t, append(rows, []string{t.footer}))
}
