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

// MoreThanHalf returns the owners, sorted, that would lose more than half of
// their candidates.
func MoreThanHalf(verdicts []Verdict) []string {
	all, going := map[string]int{}, map[string]int{}
	for _, v := range verdicts {
		all[v.Owner]++
		if v.Goes {
			going[v.Owner]++
		}
	}
	var owners []string
	for owner, n := range going {
		if 2*n > all[owner] {
			owners = append(owners, owner)
		}
	}
	slices.Sort(owners)
	return owners
}

// spareOwners keeps everything of the owners that would lose more than half of
// their candidates, and returns those owners, sorted. What goes of others goes
// all the same.
func spareOwners(verdicts []*Verdict) []string {
	all := make([]Verdict, 0, len(verdicts))
	for _, v := range verdicts {
		all = append(all, *v)
	}
	owners := MoreThanHalf(all)
	for _, v := range verdicts {
		if v.Goes && slices.Contains(owners, v.Owner) {
			v.Goes, v.Reason = false, session.ReasonKeepHalf.Text()
		}
	}
	return owners
}
