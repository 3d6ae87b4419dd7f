package cmd

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

func newRestoreDocument(entry archive.Entry, p *compact.RestorePlan) restoreDocument {
	doc := restoreDocument{
		Schema: 1, Outcome: string(p.Outcome), Reason: p.Reason, Archive: newArchiveRow(entry), Path: p.Place.Path,
		SHA256: entry.SHA256, Bytes: entry.Bytes, Orphan: p.Place.Orphan,
	}
	if p.There != nil {
		doc.Replaced = &replacedLog{Bytes: p.There.Size, SHA256: p.There.SHA256}
	}
	return doc
}

// done notes what came of the plan.
func (d *restoreDocument) done(r compact.RestoreResult) {
	d.Outcome = string(r.Outcome)
	if r.Replaced != nil && d.Replaced != nil {
		d.Replaced.Archive, d.Replaced.Kept = r.Replaced.ID, r.Kept
	}
}

// renderRestore prints what was done, and what the runtime will make of it.
func (a *app) renderRestore(ctx context.Context, doc restoreDocument, p *compact.RestorePlan, entry archive.Entry) error {
	if p.Place.Note != "" {
		hint := ""
		if _, indexed := p.Store.(session.Unrotator); indexed {
			var err error
			if hint, err = a.undoHint(ctx, entry); err != nil {
				return err
			}
		}
		a.notice(note{Path: p.Place.Path, Message: p.Place.Note, Hint: hint})
	}
	doc.Notes = a.notes
	if a.global.JSON {
		return a.printJSON(doc)
	}
	_, err := fmt.Fprint(a.Out, describeRestore(doc))
	return err
}

// undoHint names the receipt that would let the runtime continue the session
// again, if it was a compaction that took it away.
func (a *app) undoHint(ctx context.Context, entry archive.Entry) (string, error) {
	receipts, _, err := a.receipts().Examine() // doctor and verify tell of those that cannot be read
	if err != nil || ctx.Err() != nil {
		return "", err
	}
	for i := len(receipts) - 1; i >= 0; i-- {
		r := receipts[i]
		if r.Outcome == compact.Compacted && r.Archive != nil && r.Archive.ID == entry.ID {
			return "sessctl compact --undo " + r.ID + " also makes the runtime continue it", nil
		}
	}
	return "", nil
}

// describeRestore is the document for people.
func describeRestore(d restoreDocument) string {
	what := map[string]string{"restored": "restored", "planned": "would restore", "nothing-to-do": "nothing to do"}[d.Outcome]
	text := fmt.Sprintf("%s: %s", what, visible(d.Path))
	if d.Reason != "" {
		text += " (" + visible(d.Reason) + ")"
	}
	text += fmt.Sprintf("\n  from      archive %s, %s, sha256 %s\n", d.Archive.ID, formatBytes(d.Bytes), d.SHA256)
	if d.Replaced == nil {
		return text
	}
	switch {
	case d.Replaced.Archive == "" && d.Replaced.Bytes == 0:
		return text + map[bool]string{true: "  replaces  an empty log\n", false: "  replaced  an empty log\n"}[d.DryRun]
	case d.Replaced.Archive == "":
		return text + fmt.Sprintf("  replaces  %s, which would be archived first\n", formatBytes(d.Replaced.Bytes))
	}
	return text + fmt.Sprintf("  replaced  %s, archived as %s, now at %s\n", formatBytes(d.Replaced.Bytes), d.Replaced.Archive, visible(d.Replaced.Kept))
}
