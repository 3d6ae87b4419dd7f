package compact

import (
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Bypass says that a summary which was appended to a session has no effect: the
// session went on beside it. A program that had the session in its memory wrote
// on from what it knew, or a person went back to what was before.
type Bypass struct {
	Seen time.Time `json:"seen"` // by the run that wrote this
}

// noteBypassed says in the receipts of earlier overlays of this session that
// their summaries have no effect. What they were to take the place of is in the
// context still, and this run compacts it again: because is why, "" without any.
func (r Receipts) noteBypassed(p *Plan, now time.Time) (because string, err error) {
	if len(p.Survey.bypassed) == 0 {
		return "", nil
	}
	receipts, _, err := r.Examine()
	if err != nil {
		return "", err
	}
	for _, at := range p.Survey.bypassed {
		for _, receipt := range receipts {
			if !receipt.appendedAt(p.Ref, at) || receipt.Bypassed != nil {
				continue
			}
			receipt.Bypassed = &Bypass{Seen: now.UTC()}
			if _, err := r.Write(receipt); err != nil {
				return "", fmt.Errorf("note in the receipt that its summary has no effect: %w", err)
			}
			because = fmt.Sprintf("again: the session went on beside the summary of %s", receipt.ID)
		}
	}
	return because, nil
}

// appendedAt reports whether it is the receipt of an overlay whose record stands
// at a place of a session's log.
func (r Receipt) appendedAt(ref session.Ref, at int64) bool {
	return r.Outcome == Compacted && r.Strategy == session.StrategyOverlay && r.Path == ref.Path && r.Source.Bytes == at
}
