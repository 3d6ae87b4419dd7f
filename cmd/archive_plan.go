package cmd

import (
	"context"

	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// planArchive is archive --dry-run: it says which sessions would be archived,
// and which are already.
func planArchive(ctx context.Context, a *app, o steps.ArchiveOptions, sessions []workspace.Found) error {
	store, err := a.OpenArchive()
	if err == nil && o.Remember {
		err = workspace.ForetellLostMemory(ctx, a.Run)
	}
	if err != nil {
		return err
	}
	entries, err := store.List(ctx, archive.Filter{})
	if err != nil {
		return err
	}
	p := selection.ArchivePlan{App: a.Run, Remember: o.Remember, Copies: map[selection.LogCopied]bool{}, Policy: a.RecoveryPolicy()}
	for _, e := range entries {
		p.Copies[selection.LogCopied{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Bytes: e.Bytes, Modified: e.SourceModTime.UnixNano()}] = true
	}
	var end func()
	p.Policy.LeaveSessions = true
	p.Policy.Known, end = selection.KnownForPlan(ctx, a.Run)
	defer end()
	doc := steps.ArchiveDocument{Schema: 1, DryRun: true, Archives: []selection.ArchiveRow{}, Folds: true}
	due := map[int]bool{}
	for i, s := range sessions {
		if s.Bytes == 0 && s.Kind != session.KindDatabase {
			continue
		}
		row := p.Row(ctx, s)
		selection.LogArchive(ctx, p.App, &s, &row)
		doc.Archives = append(doc.Archives, row)
		due[i] = row.Outcome == string(compact.Planned) && !row.Unchanged
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if o.Supersede {
		gone, err := removal.ForeseeSuperseded(ctx, a.Run, store, removal.Archiving{Filter: archive.Filter{Agent: o.Agent, Runtime: a.Global.Runtime}, Found: sessions, Due: due})
		if err != nil {
			return err
		}
		doc.TellSuperseded(a.Run, gone)
	}
	if err := renderArchives(ctx, a, doc); err != nil {
		return err
	}
	return doc.Outcome()
}
