package audit

import (
	"context"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/retention"
)

// AdviseLines is what to do about an audit log that lacks lines.
const AdviseLines = "restore it from a backup, or sessctl doctor --fix writes the lines again as the ledger has them, without paths; until then nothing is deleted"

// LostLines are the lines that the ledger says were in the audit log, and that it lacks,
// or has otherwise.
func LostLines(run *workspace.Run, known ledger.State) ([]ledger.Leaf, error) {
	_, lost, err := witnessedLines(run, known)
	return lost, err
}

// witnessedLines are the lines of the audit log that the ledger has, word for word or as
// [RestoreLines] made them again, and the leaves of those that the log lacks.
func witnessedLines(run *workspace.Run, known ledger.State) (there []retention.Line, lost []ledger.Leaf, err error) {
	lines, err := run.Audit().Lines()
	if err != nil {
		return nil, nil, err
	}
	leaves := map[string]int{}
	for i, f := range known.Lines {
		leaves[f.Line], leaves[workspace.LeafLine(f).Sum()] = i, i
	}
	found := make([]bool, len(known.Lines))
	for _, l := range lines {
		i, ok := leaves[l.Hash]
		if !ok && l.Action == retention.ActionTrash && l.Sum() == l.Hash { // made again, with its path
			without := l
			without.Path = ""
			i, ok = leaves[without.Sum()]
		}
		if ok {
			found[i], there = true, append(there, l)
		}
	}
	for i, f := range known.Lines {
		if !found[i] {
			lost = append(lost, f)
		}
	}
	return there, lost, nil
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
