package audit

import (
	"context"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/retention"
)

// AdviseLines is what to do about an audit log that lacks lines.
const AdviseLines = "restore it from a backup, or sessctl doctor --fix writes the lines again as the ledger has them, without paths; until then nothing is deleted"

// lineKey tells the lines of the audit log apart.
type lineKey struct {
	kind    ledger.Kind
	at      int64
	archive string
}

func keyOf(f ledger.Leaf) lineKey { return lineKey{f.Kind, f.At, f.ID} }

// LostLines are the lines that the ledger says were in the audit log, and that it lacks.
func LostLines(run *workspace.Run, known ledger.State) (lost []ledger.Leaf, err error) {
	lines, err := run.Audit().Lines()
	if err != nil {
		return nil, err
	}
	there := map[lineKey]bool{}
	for _, l := range lines {
		if f, ok := workspace.LineLeaf(l); ok {
			there[keyOf(f)] = true
		}
	}
	for _, f := range known.Lines {
		if !there[keyOf(f)] {
			lost = append(lost, f)
		}
	}
	return lost, nil
}

// RestoreLines writes the lines again that the audit log has lost, and returns how many
// there were. Where a file was is known of those that still wait in the trash. The caller
// holds the lock.
func RestoreLines(ctx context.Context, run *workspace.Run) (int, error) {
	known, err := workspace.LedgerOf(run).State(ctx)
	if err != nil {
		return 0, err
	}
	lost, err := LostLines(run, known)
	if err != nil || len(lost) == 0 {
		return 0, err
	}
	from := map[int64]string{}
	for _, t := range []retention.Trash{run.SessionTrash(), run.ArchiveTrash()} {
		items, _ := t.List() // of one that cannot be read the path stays unknown
		for _, item := range items {
			from[item.At.UnixMilli()] = item.From
		}
	}
	audit := run.Audit()
	audit.Witness = nil // the ledger has them
	for _, f := range lost {
		l := workspace.LeafLine(f)
		if l.Action == retention.ActionTrash {
			l.Path = from[f.At]
		}
		if err := audit.Append(l); err != nil {
			return 0, err
		}
	}
	return len(lost), nil
}
