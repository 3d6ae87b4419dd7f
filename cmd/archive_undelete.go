package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/retention"
)

// runUndelete brings an archive back.
func runUndelete(ctx context.Context, a *app, id string) error {
	p, err := a.newPruner(pruneOptions{})
	if err != nil {
		return err
	}
	h, err := a.openVault(ctx, "archive")
	if err != nil {
		return err
	}
	defer h.close()
	if err := p.settle(ctx); err != nil {
		return err
	}
	item, err := p.trash.Get(id)
	if errors.Is(err, retention.ErrNotInTrash) {
		return &failure{code: "unknown_archive", exit: exitUsage, hint: "audit.jsonl under the data directory says what was deleted", err: err}
	}
	if err != nil {
		return err
	}
	e, err := trashedEntry(item)
	if err != nil {
		return err
	}
	line := retention.Line{
		Time: a.now().UTC(), Action: retention.ActionUndelete, Kind: item.Kind, Path: item.From,
		SHA256: item.SHA256, Bytes: item.Bytes, Archive: e.ID, Rule: "archive prune --undelete",
	}
	for _, step := range []func() error{
		func() error { return p.trash.TakeBack(item) },
		func() error { return p.archives.Readmit(ctx, e) },
		func() error { return p.audit.Append(line) },
		func() error { return p.trash.Drop(item.ID) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("bring archive %s back: %w", item.ID, err)
		}
	}
	return renderArchives(a, archiveDocument{Schema: 1, Archives: []archiveRow{newArchiveRow(e)}})
}
