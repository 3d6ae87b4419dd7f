package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// recentReader is a store whose runtime starts a session with the summaries of
// the ones before it.
type recentReader interface {
	Recent(ctx context.Context, now time.Time) ([]string, error)
}

func newReplayContextCommand(a *app) *cobra.Command {
	var recent bool
	c := &cobra.Command{
		Use:   "replay-context",
		Short: "Print what an agent starts its next session with",
		Long: `Print the block of recent conversations that a runtime puts in the prompt of a
new session: the summaries of its last sessions, newest first. Runtimes that
have one: yarnnn.
` + exitHelp,
		Example: `  sessctl replay-context --recent --runtime yarnnn`,
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if !recent {
				return usageError("see sessctl replay-context --help", "which context? --recent is needed")
			}
			return runRecent(c.Context(), a)
		},
	}
	c.Flags().BoolVar(&recent, "recent", false, "the summaries of the last sessions")
	return c
}

// recentDocument is `replay-context --recent --json`.
type recentDocument struct {
	Schema    int      `json:"schema"`
	Summaries []string `json:"summaries"` // newest first
}

func runRecent(ctx context.Context, a *app) error {
	stores, err := a.openStores()
	if err != nil {
		return err
	}
	doc := recentDocument{Schema: 1, Summaries: []string{}}
	able := 0
	for _, store := range stores {
		reader, ok := store.(recentReader)
		if !ok {
			continue
		}
		able++
		summaries, err := reader.Recent(ctx, a.now())
		if err != nil {
			return err
		}
		doc.Summaries = append(doc.Summaries, summaries...)
	}
	if able == 0 {
		return &failure{code: "no_store", exit: exitFailed, hint: "set yarnnn.dsn, or --store yarnnn=DSN", err: fmt.Errorf("no store keeps summaries of recent sessions")}
	}
	if a.global.JSON {
		return a.printJSON(doc)
	}
	if len(doc.Summaries) > 0 {
		_, err = fmt.Fprintln(a.Out, "Recent conversations:")
	}
	for _, s := range doc.Summaries {
		_, err = fmt.Fprintln(a.Out, visibleText(s))
	}
	return err
}
