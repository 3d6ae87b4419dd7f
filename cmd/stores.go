package cmd

import (
	"context"
	"strconv"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
)

func newStoresCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stores",
		Short: "List the session stores that were found, and what may be changed in them",
		Long: `List every store of every runtime: where it is, how many agents and sessions it
has and how large they are, and how its sessions can be compacted, the default
first. "none" means that only the runtime changes its sessions; they can be
archived and remembered. What was seen and is not read is named below, with the
cause and what to do.`,
		Example: `  sessctl stores
  sessctl stores --json`,
		RunE: func(c *cobra.Command, _ []string) error { return runStores(c.Context(), a) },
	}
}

func runStores(ctx context.Context, a *app) error {
	stores, err := a.OpenStores()
	if err != nil {
		return err
	}
	var all workspace.Inventory
	if len(stores) == 0 {
		a.TellUnread(workspace.UnreadRows(a.UnreadOf(all)))
		return workspace.NoStores(&a.Run.Settings)
	}
	doc := workspace.StoresDocument{Schema: 1}
	for _, store := range stores {
		row, listing, err := a.LookAtStore(ctx, store)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.Incomplete++
			row.Error = err.Error()
		}
		all.Add(store, listing)
		a.ShowOdd(listing.Notices)
		doc.Stores = append(doc.Stores, row)
	}
	for _, n := range a.SameStores() {
		a.Notice(n)
	}
	doc.Unread = workspace.UnreadRows(a.UnreadOf(all))
	a.TellUnread(doc.Unread)
	return renderStores(a, doc)
}

func renderStores(a *app, doc workspace.StoresDocument) error {
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	rows := make([][]string, 0, len(doc.Stores))
	t := table{empty: "no stores", columns: []column{
		{name: "RUNTIME"}, {name: "STORE", least: 16}, {name: "AGENTS", right: true, drop: 2}, {name: "SESSIONS", right: true}, {name: "CLOSED", right: true, drop: 1},
		{name: "SIZE", right: true}, {name: "STRATEGIES", least: 12},
	}}
	for _, r := range doc.Stores {
		last := workspace.StrategyList(r.Strategies)
		if r.Error != "" {
			last = "cannot be listed: " + r.Error
		}
		rows = append(rows, []string{
			r.Runtime, wording.Visible(r.Root), wording.Plural(r.Agents, "agent"), wording.Plural(r.Sessions, "session"),
			strconv.Itoa(r.Closed) + " closed", wording.Bytes(r.Bytes), wording.Visible(last),
		})
		t.rows = append(t.rows, []string{
			r.Runtime, a.Tilde(r.Root), wording.Count(int64(r.Agents)), wording.Count(int64(r.Sessions)), wording.Count(int64(r.Closed)), wording.Bytes(r.Bytes), last,
		})
	}
	return a.printList(t, rows)
}
