package retention

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
)

// Supersede removes the archives with whose bytes a later one of the same session begins
// that was made since a time: a session that grows would otherwise be stored whole for
// every few lines. They can be read as before, in the file of the later one, so they
// wait in the trash only until that was read a second time. It returns what went, and
// nothing of a session that [Prune.Needed] keeps. MaxAge, Keep and Grace do not count.
func (p *Prune) Supersede(ctx context.Context, since time.Time) ([]archive.Entry, error) {
	once := p.superseding()
	plan, err := once.planSuperseded(ctx, since)
	if err != nil {
		return nil, err
	}
	if err := once.Execute(ctx, plan); err != nil {
		return nil, err
	}
	purge := &PrunePlan{}
	if err := once.planPurge(ctx, purge, once.places(nil)); err != nil {
		return nil, err
	}
	purge.Purge = slices.DeleteFunc(purge.Purge, func(in PurgePlan) bool { return !superseded(in.Item) })
	return plan.going(), once.Execute(ctx, purge)
}

// ForeseeSuperseded returns what [Prune.Supersede] would remove. It changes nothing.
func (p *Prune) ForeseeSuperseded(ctx context.Context, since time.Time) ([]archive.Entry, error) {
	plan, err := p.superseding().planSuperseded(ctx, since)
	if err != nil {
		return nil, err
	}
	return plan.going(), nil
}

func (p *Prune) superseding() *Prune {
	once := *p
	once.Grace, once.LocalKeep, once.Superseded = 0, 0, true
	return &once
}

// going are the archives that go.
func (p *PrunePlan) going() (all []archive.Entry) {
	for _, a := range p.Archives {
		if a.Verdict.Goes {
			all = append(all, a.Entry)
		}
	}
	return all
}

// planSuperseded is the plan for the sessions of which an archive was made since a time.
func (p *Prune) planSuperseded(ctx context.Context, since time.Time) (*PrunePlan, error) {
	entries, err := p.entries(ctx)
	if err != nil {
		return nil, err
	}
	fresh, count := map[origin]bool{}, map[origin]int{}
	for _, e := range entries {
		count[originOf(e)]++
		fresh[originOf(e)] = fresh[originOf(e)] || !e.CreatedAt.Before(since)
	}
	entries = slices.DeleteFunc(entries, func(e archive.Entry) bool { return !fresh[originOf(e)] || count[originOf(e)] < 2 })
	plan := &PrunePlan{}
	for _, e := range entries {
		plan.Archives = append(plan.Archives, ArchivePlan{Entry: e, Verdict: Verdict{Candidate: Candidate{ID: e.ID, Time: e.CreatedAt}}})
	}
	known := p.places(entries)
	for i := len(plan.Archives) - 1; i >= 0; i-- {
		if err := p.decide(ctx, plan, known, i); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// superseded reports whether a record of the trash is of such an archive.
func superseded(item Item) bool {
	var e archive.Entry
	return item.Kind == kindArchive && json.Unmarshal(item.Detail, &e) == nil && e.SupersededBy != ""
}

// begins reports whether an archive, which is read to its end once for all that are
// asked for, begins with the bytes of another one.
func (p *Prune) begins(ctx context.Context, known *places, other, e archive.Entry) bool {
	of := originOf(e)
	if !slices.ContainsFunc(known.asked[of], func(x archive.Entry) bool { return x.ID == e.ID }) {
		known.asked[of] = append(known.asked[of], e)
		delete(known.begins, other.ID)
	}
	found, read := known.begins[other.ID]
	if !read {
		var err error
		if found, err = p.Archives.Beginnings(ctx, other, known.asked[of]); err != nil {
			found = nil // what cannot be read begins with nothing
		}
		known.begins[other.ID] = found
	}
	return found[e.ID]
}
