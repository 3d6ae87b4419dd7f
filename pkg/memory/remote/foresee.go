package remote

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/pkg/memory"
)

// Other is what a server has under the name of a host from another memory.
type Other struct {
	Records  int   `json:"records"`
	Unknown  int   `json:"unknown"`   // of these, what this memory does not have, did not send and did not forget
	LastPush int64 `json:"last_push"` // epoch milliseconds, 0 if that is not known
}

// Refusal is the ErrOtherMemory with which a push ends that does not take it over.
func (x Other) Refusal(host string) error {
	return fmt.Errorf("%w (%s: %d records, %d of which this memory never had)", ErrOtherMemory, host, x.Records, x.Unknown)
}

// Preview says what the server has under the name of this host that came from
// another memory, nothing if there is none: what TakeOver would take over. It
// changes nothing.
func (p *Pusher) Preview(ctx context.Context) (x Other, err error) {
	identity, err := p.Local.Identity(ctx)
	if err != nil {
		return x, err
	}
	counts, err := p.Shared.Count(ctx)
	if err != nil {
		return x, err
	}
	there := counts.Host(p.Host)
	if there.OfOtherRole {
		return x, fmt.Errorf("%w (%s)", ErrOtherRole, p.Host)
	}
	noted, err := p.Local.SharePushed(ctx, p.Server)
	if err != nil || there.Records == 0 || there.Memory != "" && there.Memory == identity && there.LastPush <= noted {
		return x, err
	}
	digests, err := p.digests(ctx)
	if err != nil {
		return x, err
	}
	if x.Unknown, err = p.countStrange(ctx, digests); err != nil || x.Unknown == 0 && (there.Memory == "" || there.Memory == identity) {
		return Other{}, err
	}
	x.Records, x.LastPush = len(digests), there.LastPush
	return x, nil
}

// Forecast is what a push would do.
type Forecast struct {
	memory.Unshared
	Honoured int  // records that others forgot, and that would be forgotten here
	Compared bool // all that the server has would be looked at
	SetBack  bool // the server is in an earlier state than the last push left it in
	Left     memory.LeftOut
}

// outlook is what a forecast is made from.
type outlook struct {
	counts Counts
	list   []memory.Forgotten // what the server was told, by any host, since it was asked last
	fresh  map[string]bool    // ids of those that are to be forgotten here
	heard  int                // of list, forgotten here too, which the server was not told from here
	noted  int                // records that the server should have of this host
}

// Foresee says what a push would do now. It reads what the server has and changes
// nothing, there or here.
func (p *Pusher) Foresee(ctx context.Context) (f Forecast, err error) {
	o, err := p.lookAhead(ctx, &f)
	if err != nil {
		return f, err
	}
	doubtful, err := p.foreseeState(ctx, o, &f)
	if err != nil {
		return f, err
	}
	if f.Left, err = p.Local.CountLeftOut(ctx, memory.ShareQuery{Server: p.Server, Only: p.Only}); err != nil {
		return f, err
	}
	if f.Compared = f.SetBack || doubtful || p.Compare || p.TakeOver || o.noted != o.counts.Of(p.Host); f.Compared {
		return f, p.foreseeCompared(ctx, o, &f)
	}
	return f, p.foreseeNoted(ctx, o, &f)
}

// lookAhead reads what others have forgotten.
func (p *Pusher) lookAhead(ctx context.Context, f *Forecast) (o outlook, err error) {
	if o.counts, err = p.Shared.Count(ctx); err != nil {
		return o, err
	}
	since, err := p.Local.ShareMark(ctx, p.Server)
	if err != nil {
		return o, err
	}
	if o.list, _, err = p.Shared.Forgotten(ctx, since); err != nil {
		return o, err
	}
	fresh, err := p.Local.Unforgotten(ctx, o.list)
	if err != nil {
		return o, err
	}
	o.fresh = make(map[string]bool, len(fresh))
	for _, x := range fresh {
		o.fresh[x.ID] = true
	}
	var gone int
	if f.Honoured, gone, err = p.Local.CountHeld(ctx, p.Server, o.list); err != nil {
		return o, err
	}
	if o.noted, err = p.Local.CountShared(ctx, p.Server); err != nil {
		return o, err
	}
	o.noted -= gone
	untold, err := p.Local.UnsharedTombstones(ctx, p.Server)
	o.heard = countAmong(untold, o.list)
	return o, err
}

// foreseeState finds out whether the server was set back, as look and
// lookForTombstones do.
func (p *Pusher) foreseeState(ctx context.Context, o outlook, f *Forecast) (doubtful bool, err error) {
	pushed, err := p.Local.SharePushed(ctx, p.Server)
	if err != nil || p.TakeOver {
		return false, err
	}
	f.SetBack, doubtful = judge(o.counts.Stamped, o.counts.Host(p.Host), pushed)
	identity, err := p.Local.Identity(ctx)
	if err != nil {
		return doubtful, err
	}
	f.SetBack = f.SetBack && !p.renamed(o.counts, identity)
	told, err := p.Local.CountSharedTombstones(ctx, p.Server)
	if err != nil {
		return doubtful, err
	}
	if o.counts.Stamped && o.counts.Tombstones < told+len(o.fresh)+o.heard {
		f.SetBack = true
	}
	return doubtful, nil
}

// foreseeNoted is a push that relies on what is noted here.
func (p *Pusher) foreseeNoted(ctx context.Context, o outlook, f *Forecast) error {
	q, err := p.query(ctx)
	if err != nil {
		return err
	}
	if f.Unshared, err = p.Local.CountUnshared(ctx, q); err != nil {
		return err
	}
	f.Tombstones -= o.heard
	if f.Honoured == 0 {
		return nil
	}
	_, err = p.Local.EachUnshared(ctx, q, func(page []memory.Shared) error {
		for _, x := range page {
			if o.fresh[x.ID] {
				f.Records--
			}
		}
		return nil
	})
	return err
}

// countAmong counts those of a list that were told too.
func countAmong(list, told []memory.Forgotten) (n int) {
	ids := make(map[string]bool, len(told))
	for _, x := range told {
		ids[x.ID] = true
	}
	for _, x := range list {
		if ids[x.ID] {
			n++
		}
	}
	return n
}

// foreseeCompared is a push that compares all that the server has.
func (p *Pusher) foreseeCompared(ctx context.Context, o outlook, f *Forecast) error {
	there, err := p.digests(ctx)
	if err != nil {
		return err
	}
	forgotten, err := p.Local.UnsharedTombstones(ctx, "") // all of them are told again
	if err != nil {
		return err
	}
	f.Tombstones = len(forgotten) + len(o.fresh)
	for _, x := range forgotten {
		delete(there, x.ID)
	}
	q, err := p.query(ctx)
	if err != nil {
		return err
	}
	q.All = true
	_, err = p.Local.EachUnshared(ctx, q, func(page []memory.Shared) error {
		for _, x := range page {
			digest, ok := there[x.ID]
			goes := ok || p.Only.Has(x.Runtime, x.Agent)
			if goes && !o.fresh[x.ID] && (!ok || digest != x.Digest) {
				f.Records++
			}
			delete(there, x.ID)
		}
		return nil
	})
	f.Gone = len(there)
	return err
}
