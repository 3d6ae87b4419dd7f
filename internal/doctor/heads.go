package doctor

import (
	"context"
	"slices"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/ledger/heads"
)

// adviseHead is what can be done where a head is of another history than that which is
// here.
const adviseHead = "put the data directory back from a newer backup; or, if this is to be the history from now on, sessctl doctor --new-ledger REASON (docs/ledger.md)"

// examineHeads asks for the heads of the ledger that were given away, and holds the
// ledger against them.
func examineHeads(ctx context.Context, run *workspace.Run, report *findings) error {
	var all []heads.Seen
	sure, err := workspace.Settled(run, func() (sound bool, err error) {
		all, err = workspace.CompareHeads(ctx, run)
		return !slices.ContainsFunc(all, func(s heads.Seen) bool { return s.State == heads.Contradicts }), err
	})
	if err != nil {
		unusable(report, "ledger.heads", err)
		return nil
	}
	for _, seen := range all {
		switch seen.State {
		case heads.Contradicts:
			if !sure {
				report.note(seen.Place, "is not compared with the ledger: another sessctl is running", "")
				continue
			}
			report.damaged(seen.Place, seen.Reason, adviseHead)
		case heads.GivenUp:
			report.note(seen.Place, "has a head of the ledger before, which was given up: the next run replaces it", "")
		case heads.Unreached:
			report.warn(seen.Place, "cannot be asked for its head of the ledger: "+seen.Reason, "")
		case heads.Mute:
			report.note(seen.Place, "is told of each head of the ledger, and gives none back", "")
		case heads.None:
			switch {
			case workspace.HadHead(&run.Settings, seen.Place):
				report.warn(seen.Place, "had the head of the ledger, and has none any more", "the next run that adds to the ledger gives it again; look at who took it away")
			case workspace.Exists(workspace.LedgerOf(run).Dir()):
				report.note(seen.Place, "has no head of the ledger: no run has ended since it is named, or it took none", "")
			}
		default:
			report.ok(seen.Place, "has a head of %s, which the ledger continues", workspace.Entries(seen.Size))
		}
	}
	return nil
}
