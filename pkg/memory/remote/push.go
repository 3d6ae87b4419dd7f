package remote

import (
	"context"
	"errors"
	"fmt"

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
}

// ErrNotThere is returned when records that were sent are not found afterwards.
var ErrNotThere = errors.New("not found after it was sent")

// ErrOtherMemory is returned, before anything is dropped, when the server has
// records under the name of this host of which this memory has none: another
// machine has the name too, or this memory was lost. Compare goes on all the same.
var ErrOtherMemory = errors.New("the shared memory has records under the name of this host, and this memory has none of them; nothing was changed there")

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
	for _, step := range []func(context.Context, *Report) error{p.lookForTombstones, p.bury, p.compare, p.send, p.drop, p.finish} {
		if err := step(ctx, &r); err != nil {
			return r, err
		}
	}
	return r, unwiped
}

// look finds out whether the server has been set back since the last push (it
// was restored from a backup, say): its number of records may be what is noted
// here all the same. Then nothing that is noted of it holds.
func (p *Pusher) look(ctx context.Context, r *Report) error {
	noted, err := p.Local.SharePushed(ctx, p.Server)
	if err != nil || noted == 0 {
		return err
	}
	counts, err := p.Shared.Count(ctx)
	if err != nil || !counts.Stamped || counts.LastPushOf(p.Host) == noted {
		return err
	}
	r.SetBack = true
	return p.Local.ForgetShared(ctx, p.Server)
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

// bury tells the server what was forgotten here.
func (p *Pusher) bury(ctx context.Context, r *Report) error {
	list, err := p.Local.UnsharedTombstones(ctx, p.Server)
	if err != nil || len(list) == 0 {
		return err
	}
	if r.Removed, err = p.Shared.Bury(ctx, p.Host, list); err != nil {
		return err
	}
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
// restored, or this memory was) what it has is read and noted anew.
func (p *Pusher) compare(ctx context.Context, r *Report) error {
	counts, err := p.Shared.Count(ctx)
	if err != nil {
		return err
	}
	noted, err := p.Local.CountShared(ctx, p.Server)
	if err != nil || noted == counts.Of(p.Host) && !p.Compare && !r.SetBack {
		return err
	}
	there := map[string]int64{}
	if err := p.Shared.Verify(ctx, p.Host, func(id string, digest int64) error {
		there[id] = digest
		return nil
	}); err != nil {
		return err
	}
	if err := p.Local.ForgetShared(ctx, p.Server); err != nil {
		return err
	}
	r.Compared = true
	q, err := p.query(ctx)
	if err != nil {
		return err
	}
	q.All = true
	had := len(there)
	_, err = p.Local.EachUnshared(ctx, q, func(page []memory.Shared) error {
		var same []memory.Shared
		for _, x := range page {
			if digest, ok := there[x.ID]; ok && digest == x.Digest {
				same = append(same, x)
			}
			delete(there, x.ID)
		}
		return p.Local.NoteShared(ctx, p.Server, same)
	})
	if err == nil && had > 0 && len(there) == had && !p.Compare && !r.SetBack {
		return fmt.Errorf("%w: %d records of %s", ErrOtherMemory, had, p.Host)
	}
	var strange []string
	for id := range there {
		strange = append(strange, id)
	}
	return errors.Join(err, p.dropIDs(ctx, strange, r))
}

func (p *Pusher) query(ctx context.Context) (q memory.ShareQuery, err error) {
	q.Server = p.Server
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
		receipt, err := p.Shared.Push(ctx, Batch{Host: p.Host, Model: q.Model, Records: page})
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
		receipt, err := p.Shared.Push(ctx, Batch{Host: p.Host, Gone: part})
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
	if err != nil || !r.Compared || !counts.Stamped {
		return err
	}
	return p.notePushed(ctx, Receipt{At: counts.LastPushOf(p.Host)}) // that state was compared
}
