package cmd

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

func newStoresCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stores",
		Short: "List the session stores that were found, and what may be changed in them",
		Long: `List every store of every runtime: where it is, how many agents and sessions it
has and how large they are, and how its sessions can be compacted, the default
first. "none" means that only the runtime changes its sessions; they can be
archived and remembered.
` + exitHelp,
		Example: `  sessctl stores
  sessctl stores --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runStores(c.Context(), a) },
	}
}

// storesDocument is `stores --json`.
type storesDocument struct {
	Schema int        `json:"schema"`
	Stores []storeRow `json:"stores"`
	Notes  []note     `json:"notes"`
}

type storeRow struct {
	Runtime    string             `json:"runtime"`
	Root       string             `json:"root"`
	Agents     int                `json:"agents"`
	Sessions   int                `json:"sessions"` // that an agent may still be using
	Closed     int                `json:"closed"`   // reset, deleted, backups
	Bytes      int64              `json:"bytes"`    // of all of them
	Strategies []compact.Strategy `json:"strategies"`
	Error      string             `json:"error"` // why it could not be listed, or ""
}

func runStores(ctx context.Context, a *app) error {
	stores, err := a.openStores()
	if err != nil {
		return err
	}
	if len(stores) == 0 {
		return a.noStores()
	}
	doc := storesDocument{Schema: 1}
	for _, store := range stores {
		row, notices, err := lookAtStore(ctx, store)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.unlisted++
			row.Error = err.Error()
		}
		a.showNotices(notices)
		doc.Stores = append(doc.Stores, row)
	}
	return renderStores(a, doc)
}

func lookAtStore(ctx context.Context, store session.Store) (storeRow, []session.Notice, error) {
	row := storeRow{Runtime: store.Runtime(), Root: store.Root(), Strategies: compact.Strategies(store)}
	listing, err := store.List(ctx)
	if err != nil {
		return row, nil, err
	}
	row.Agents = len(listing.Agents)
	row.Strategies = strategiesOf(store, listing.Refs)
	for _, ref := range listing.Refs {
		row.Bytes += ref.Bytes
		if shown(ref.Kind) {
			row.Sessions++
		} else {
			row.Closed++
		}
	}
	return row, listing.Notices, nil
}

// strategiesOf is what can be done with the sessions that an agent may still be
// using: only none where all of them lie in a runtime's database.
func strategiesOf(store session.Store, refs []session.Ref) []compact.Strategy {
	used := slices.DeleteFunc(slices.Clone(refs), func(ref session.Ref) bool {
		return !shown(ref.Kind) || ref.State == session.StateUnsupported && ref.Kind != session.KindDatabase
	})
	for _, ref := range used {
		if ref.Kind != session.KindStored && ref.Kind != session.KindDatabase {
			return compact.Strategies(store)
		}
	}
	if len(used) == 0 {
		return compact.Strategies(store)
	}
	return compact.StrategiesOf(store, used[0])
}

func renderStores(a *app, doc storesDocument) error {
	doc.Notes = a.notes
	if a.global.JSON {
		return a.printJSON(doc)
	}
	rows := make([][]string, 0, len(doc.Stores))
	for _, r := range doc.Stores {
		last := strategyList(r.Strategies)
		if r.Error != "" {
			last = "cannot be listed: " + r.Error
		}
		rows = append(rows, []string{
			r.Runtime, visible(r.Root), plural(r.Agents, "agent"), plural(r.Sessions, "session"),
			strconv.Itoa(r.Closed) + " closed", formatBytes(r.Bytes), visible(last),
		})
	}
	return a.printRows(rows)
}

func strategyList(all []compact.Strategy) string {
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
