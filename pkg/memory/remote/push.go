package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sessctl/sessctl/pkg/memory"
)

// Pusher brings a shared memory up to date with the memory of a host, and that
// with what others have forgotten.
type Pusher struct {
	Local  *memory.Store
	Shared Memory
	Host   string
	Server string // identity of the shared memory, Counts.Server
	// Lock takes the lock of the data directory, for as long as something is
	// forgotten here.
	Lock func(ctx context.Context) (unlock func(), err error)
	// Progress is told how many records are there, of how many. It may be nil.
	Progress func(done, total int)
	// Compare reads what the server has and sends whatever differs, whatever is
	// noted here. It is done by itself if the numbers differ.
	Compare bool
	// TakeOver makes the name of the host that of this memory, whosever it was, and
	// drops there what this memory does not have.
	TakeOver bool
	// Only are the agents that are shared. What the server has of others already stays
	// there and is kept up to date.
	Only memory.Sharers

	identity string    // of this memory
	there    HostCount // as the push found it
	doubtful bool      // what is there may not be what this memory has sent
}

// Report says what a push has done.
type Report struct {
	Sent       int  `json:"sent"`         // records that were read back afterwards
	Stored     int  `json:"stored"`       // of these, what was new there or had changed
	Gone       int  `json:"gone"`         // dropped there, because the memory has them no more
	Tombstones int  `json:"tombstones"`   // told to the server
	Removed    int  `json:"removed"`      // records that were forgotten here, and are gone there now
	Honoured   int  `json:"honoured"`     // records that others forgot, and are gone here now
	Damaged    int  `json:"damaged"`      // not sent: they are not what was stored
	Compared   bool `json:"compared"`     // all that the server has was looked at
	SetBack    bool `json:"set_back"`     // the server was found in an earlier state than the last push left it in
	ThereNow   int  `json:"there_now"`    // records of this host, counted there at the end
	LeftToSend int  `json:"left_to_send"` // records that are still to be sent
	Lagging    int  `json:"lagging"`      // sent, and not counted there at the end: a node of a cluster is behind the others
	LeftOut    int  `json:"left_out"`     // records of this memory that are of other agents than those that are shared
	LeftThere  int  `json:"left_there"`   // of these, what the server has all the same: it was sent before
}

// Changed reports whether anything is different now, there or here.
func (r Report) Changed() bool {
	return r.Sent+r.Gone+r.Tombstones+r.Honoured > 0
}

// ErrNotThere is returned when records that were sent are not found afterwards.
var ErrNotThere = errors.New("not found after it was sent")

// Push does all of it. With an error, the report says how far it came; the next
// push goes on from there. [memory.ErrUnwiped] comes with a report that is
// whole.
func (p *Pusher) Push(ctx context.Context) (r Report, err error) {
	if err := p.look(ctx, &r); err != nil {
		return r, err
	}
	unwiped, err := p.honour(ctx, &r)
	if err != nil {
		return r, err
	}
	for _, step := range []func(context.Context, *Report) error{p.lookForTombstones, p.bury, p.compare, p.claim, p.send, p.drop, p.finish} {
		if err := step(ctx, &r); err != nil {
			return r, err
		}
	}
	return r, unwiped
}

// look finds out in which state the server is. It must not have the records of
// another memory under the name of this host. If it has been set back since the
// last push (it was restored from a backup, say) nothing that is noted of it
// holds: its number of records may be what is noted here all the same. If it is
// ahead of what is noted, a push was cut off, this memory was set back, or there
// is a copy of it, and what is there is looked at before anything is dropped.
func (p *Pusher) look(ctx context.Context, r *Report) (err error) {
	if p.identity, err = p.Local.MakeIdentity(ctx); err != nil {
		return err
	}
	counts, err := p.Shared.Count(ctx)
	if err != nil {
		return err
	}
	p.there, p.doubtful = counts.Host(p.Host), false
	r.ThereNow = p.there.Records
	if p.there.OfOtherRole {
		return fmt.Errorf("%w (%s)", ErrOtherRole, p.Host)
	}
	if p.TakeOver {
		return p.Local.ForgetShared(ctx, p.Server)
	}
	if p.there.Memory != "" && p.there.Memory != p.identity {
		return fmt.Errorf("%w (%s: %d records)", ErrOtherMemory, p.Host, p.there.Records)
	}
	noted, err := p.Local.SharePushed(ctx, p.Server)
	if err != nil {
		return err
	}
	if r.SetBack, p.doubtful = judge(counts.Stamped, p.there, noted); !r.SetBack {
		return nil
	}
	r.SetBack = !p.renamed(counts, p.identity)
	return p.Local.ForgetShared(ctx, p.Server)
}

// renamed reports whether this host has another name than the one under which its memory
// has pushed, or is a copy of the host that did: the server was not set back then.
func (p *Pusher) renamed(counts Counts, identity string) bool {
	return counts.Host(p.Host).Memory == "" && slices.ContainsFunc(counts.Hosts, func(h HostCount) bool { return h.Host != p.Host && h.Memory == identity })
}

// judge compares when a server says that a host has pushed last with what is noted
// of it.
func judge(stamped bool, there HostCount, noted int64) (setBack, doubtful bool) {
	same := stamped && noted == there.LastPush
	doubtful = there.Memory == "" && there.Records > 0 && !same
	if noted == 0 || same || !stamped {
		return false, doubtful
	}
	setBack = there.LastPush < noted
	return setBack, doubtful || !setBack
}

// lookForTombstones finds out whether the server has lost some: all that it has
// are noted here by now. Then it is told all of them again.
func (p *Pusher) lookForTombstones(ctx context.Context, r *Report) error {
	noted, err := p.Local.CountSharedTombstones(ctx, p.Server)
	if err != nil || noted == 0 {
		return err
	}
	counts, err := p.Shared.Count(ctx)
	if err != nil || !counts.Stamped || counts.Tombstones >= noted {
		return err
	}
	r.SetBack = true
	return p.Local.ForgetShared(ctx, p.Server)
}

// honour forgets here what others have forgotten. It comes first: what they
// forgot is not sent again.
func (p *Pusher) honour(ctx context.Context, r *Report) (unwiped, err error) {
	since, err := p.Local.ShareMark(ctx, p.Server)
	if err != nil {
		return nil, err
	}
	list, mark, err := p.Shared.Forgotten(ctx, since)
	if err != nil {
		return nil, err
	}
	fresh, err := p.Local.Unforgotten(ctx, list)
	if err != nil {
		return nil, err
	}
	if len(fresh) > 0 {
		unlock, err := p.Lock(ctx)
		if err != nil {
			return nil, err
		}
		defer unlock()
		if r.Honoured, err = p.Local.Honour(ctx, fresh); errors.Is(err, memory.ErrUnwiped) {
			unwiped = err
		} else if err != nil {
			return nil, err
		}
	}
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	if err := p.noteForgotten(ctx, ids); err != nil {
		return unwiped, err
	}
	if mark == since {
		return unwiped, nil
	}
	return unwiped, p.Local.NoteShareMark(ctx, p.Server, mark)
}

// Bury tells the server what was forgotten here, and nothing else. It returns how
// many records were there and are gone.
func (p *Pusher) Bury(ctx context.Context) (removed int, err error) {
	var r Report
	err = p.bury(ctx, &r)
	return r.Removed, err
}

// bury tells the server what was forgotten here.
func (p *Pusher) bury(ctx context.Context, r *Report) error {
	list, err := p.Local.UnsharedTombstones(ctx, p.Server)
	if err != nil || len(list) == 0 {
		return err
	}
	removed, err := p.Shared.Bury(ctx, p.Host, list)
	if err != nil {
		return err
	}
	r.Removed += removed
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	r.Tombstones = len(list)
	return p.noteForgotten(ctx, ids)
}

// noteForgotten notes that the server has these tombstones, and the records no
// more.
func (p *Pusher) noteForgotten(ctx context.Context, ids []string) error {
	return errors.Join(p.Local.NoteTombstones(ctx, p.Server, ids), p.Local.NoteGone(ctx, p.Server, ids))
}

// compare looks whether the server has what is noted here. If not (it was
// restored, or this memory was) what it has is read and noted anew, what this
// memory does not have is dropped there, and it is told again what is forgotten.
func (p *Pusher) compare(ctx context.Context, r *Report) error {
	counts, err := p.Shared.Count(ctx)
	if err != nil {
		return err
	}
	noted, err := p.Local.CountShared(ctx, p.Server)
	if err != nil || noted == counts.Of(p.Host) && !p.Compare && !p.TakeOver && !p.doubtful && !r.SetBack {
		return err
	}
	there, err := p.digests(ctx)
	if err != nil {
		return err
	}
	if p.doubtful {
		if err := p.refuseStrange(ctx, there); err != nil {
			return err
		}
	}
	if err := errors.Join(p.claim(ctx, r), p.Local.ForgetShared(ctx, p.Server)); err != nil {
		return err
	}
	if err := p.bury(ctx, r); err != nil {
		return err
	}
	r.Compared = true
	q, err := p.query(ctx)
	if err != nil {
		return err
	}
	q.All = true
	if _, err = p.Local.EachUnshared(ctx, q, func(page []memory.Shared) error {
		var found []memory.Shared
		for _, x := range page {
			switch digest, ok := there[x.ID]; {
			case ok && digest == x.Digest:
				found = append(found, x)
			case ok:
				found = append(found, x.Outdated())
			}
			delete(there, x.ID)
		}
		return p.Local.NoteShared(ctx, p.Server, found)
	}); err != nil {
		return err
	}
	return p.dropIDs(ctx, slices.Sorted(maps.Keys(there)), r)
}

// digests are those of all records that the server has of this host, by id.
func (p *Pusher) digests(ctx context.Context) (map[string]int64, error) {
	there := map[string]int64{}
	return there, p.Shared.Verify(ctx, p.Host, func(id string, digest int64) error {
		there[id] = digest
		return nil
	})
}

// refuseStrange returns ErrOtherMemory if the server has records of this host that
// this memory never had.
func (p *Pusher) refuseStrange(ctx context.Context, there map[string]int64) error {
	strange, err := p.countStrange(ctx, there)
	if err == nil && strange > 0 {
		err = Other{Records: len(there), Unknown: strange}.Refusal(p.Host)
	}
	return err
}

func (p *Pusher) countStrange(ctx context.Context, there map[string]int64) (n int, err error) {
	known, err := p.Local.KnownIDs(ctx, p.Server)
	for id := range there {
		if !known[id] {
			n++
		}
	}
	return n, err
}

// claim takes the name of the host for this memory.
func (p *Pusher) claim(ctx context.Context, _ *Report) error {
	if p.there.Memory == p.identity {
		return nil
	}
	receipt, err := p.Shared.Push(ctx, p.batch(Batch{TakeOver: p.TakeOver}))
	if err != nil {
		return err
	}
	p.there.Memory = p.identity
	return p.notePushed(ctx, receipt)
}

// batch completes a batch of this host.
func (p *Pusher) batch(b Batch) Batch {
	b.Host, b.Memory = p.Host, p.identity
	return b
}

func (p *Pusher) query(ctx context.Context) (q memory.ShareQuery, err error) {
	q.Server, q.Only = p.Server, p.Only
	q.Model, err = p.Local.VectorModel(ctx)
	return q, err
}

// send sends what is new or changed, page by page, and notes what was read back.
func (p *Pusher) send(ctx context.Context, r *Report) error {
	q, err := p.query(ctx)
	if err != nil {
		return err
	}
	todo, err := p.Local.CountUnshared(ctx, q)
	if err != nil {
		return err
	}
	missing := 0
	r.LeftToSend = todo.Records
	r.Damaged, err = p.Local.EachUnshared(ctx, q, func(page []memory.Shared) error {
		receipt, err := p.Shared.Push(ctx, p.batch(Batch{Model: q.Model, Records: page}))
		if err != nil {
			return err
		}
		there := page[:0:0]
		seen := idSet(receipt.Present)
		for _, x := range page {
			if seen[x.ID] {
				there = append(there, x)
			}
		}
		missing += len(page) - len(there) - len(receipt.Buried)
		r.Sent, r.Stored = r.Sent+len(there), r.Stored+receipt.Stored
		r.LeftToSend = max(0, r.LeftToSend-len(there)-len(receipt.Buried))
		if p.Progress != nil {
			p.Progress(r.Sent, todo.Records)
		}
		return errors.Join(p.Local.NoteShared(ctx, p.Server, there), p.notePushed(ctx, receipt))
	})
	if err == nil && missing > 0 {
		err = fmt.Errorf("%w: %d records", ErrNotThere, missing)
	}
	return err
}

// notePushed notes in which state a batch has left the server.
func (p *Pusher) notePushed(ctx context.Context, r Receipt) error {
	if r.At == 0 {
		return nil
	}
	return p.Local.NoteSharePushed(ctx, p.Server, r.At)
}

func idSet(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// drop drops there what the memory has no more.
func (p *Pusher) drop(ctx context.Context, r *Report) error {
	ids, err := p.Local.GoneShared(ctx, p.Server)
	if err != nil {
		return err
	}
	return p.dropIDs(ctx, ids, r)
}

func (p *Pusher) dropIDs(ctx context.Context, ids []string, r *Report) error {
	const atOnce = 1000
	for from := 0; from < len(ids); from += atOnce {
		part := ids[from:min(from+atOnce, len(ids))]
		receipt, err := p.Shared.Push(ctx, p.batch(Batch{Gone: part}))
		if err != nil {
			return err
		}
		r.Gone += receipt.Gone
		if err := errors.Join(p.Local.NoteGone(ctx, p.Server, part), p.notePushed(ctx, receipt)); err != nil {
			return err
		}
	}
	return nil
}

// finish counts what is there.
func (p *Pusher) finish(ctx context.Context, r *Report) error {
	counts, err := p.Shared.Count(ctx)
	if err != nil {
		return err
	}
	noted, err := p.Local.CountShared(ctx, p.Server)
	r.ThereNow = counts.Of(p.Host)
	r.Lagging = max(0, noted-r.ThereNow)
	if err == nil {
		err = p.countLeftOut(ctx, r)
	}
	if err != nil || !r.Compared || !counts.Stamped {
		return err
	}
	return p.notePushed(ctx, Receipt{At: counts.Host(p.Host).LastPush}) // that state was compared
}

// countLeftOut counts what is not shared.
func (p *Pusher) countLeftOut(ctx context.Context, r *Report) error {
	n, err := p.Local.CountLeftOut(ctx, memory.ShareQuery{Server: p.Server, Only: p.Only})
	r.LeftOut, r.LeftThere = n.Records, n.There
	return err
}
