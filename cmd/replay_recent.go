package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/session/yarnnn"
)

// recentReader is a store whose runtime starts a session with the summaries of
// the ones before it.
type recentReader interface {
	Recent(ctx context.Context, now time.Time) ([]string, error)
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
		if errors.Is(err, yarnnn.ErrManyUsers) {
			return &failure{code: "many_users", exit: exitUsage, hint: "say whose with yarnnn.user_id (SESSCTL_YARNNN_USER_ID)", err: err}
		}
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
