package retention

import (
	"cmp"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Policy says what may be deleted.
type Policy struct {
	MaxAge time.Duration // only what is older
	Keep   int           // never the newest so many of an owner
}

// Candidate is something that could be deleted.
type Candidate struct {
	ID    string
	Owner string    // whose: the newest are kept, and the half is counted, by owner
	Time  time.Time // when it was used last
	// Temporary marks what was made to be thrown away: it counts among its
	// owner's candidates, but is never kept for being the newest.
	Temporary bool
}

// Verdict says what becomes of a candidate.
type Verdict struct {
	Candidate
	Goes   bool
	Reason string // why it stays; "" if it goes
}

// Choose applies the rules that do not need the candidate itself: its age,
// where a time in the future is not old, and the newest of each owner. The
// verdicts come in the order of the candidates.
func Choose(all []Candidate, p Policy, now time.Time) []Verdict {
	rank := map[string]int{}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b Candidate) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.ID, a.ID)) })
	newest := map[string]bool{}
	for _, c := range order {
		if c.Temporary {
			continue
		}
		if rank[c.Owner]++; rank[c.Owner] <= p.Keep {
			newest[c.ID] = true
		}
	}
	verdicts := make([]Verdict, 0, len(all))
	for _, c := range all {
		v := Verdict{Candidate: c}
		switch age := now.Sub(c.Time); {
		case newest[c.ID]:
			v.Reason = session.ReasonKeepNewest.Text()
		case age < 0:
			v.Reason = session.ReasonKeepFuture.Text()
		case age <= p.MaxAge:
			v.Reason = session.ReasonKeepYoung.Text()
		default:
			v.Goes = true
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// Waiting is an owner of whom some of what may go waits for a later run.
type Waiting struct {
	Owner string
	Count int // of its candidates
}

// holdBack keeps what is more than one run may take of an owner: half of its
// candidates, but at least one, so that every run moves on. The oldest go first. It
// returns the owners of whom something waits, sorted.
func holdBack(verdicts []*Verdict) []Waiting {
	all, going := map[string]int{}, map[string][]*Verdict{}
	for _, v := range verdicts {
		all[v.Owner]++
		if v.Goes {
			going[v.Owner] = append(going[v.Owner], v)
		}
	}
	var waiting []Waiting
	for owner, due := range going {
		most := max(1, all[owner]/2)
		if len(due) <= most {
			continue
		}
		slices.SortStableFunc(due, func(a, b *Verdict) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID)) })
		for _, v := range due[most:] {
			v.Goes, v.Reason = false, session.ReasonKeepHalf.Text()
		}
		waiting = append(waiting, Waiting{owner, len(due) - most})
	}
	slices.SortFunc(waiting, func(a, b Waiting) int { return cmp.Compare(a.Owner, b.Owner) })
	return waiting
}
