package compact

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// Known tells which sessions were archived and remembered by an earlier run and
// have not changed since. It is made once a run, of all receipts.
type Known struct {
	receipts map[[3]string][]Receipt // newest first, by runtime, agent and session
	holds    func(ctx context.Context, r Receipt) (bool, error)
}

// NewKnown takes the receipts of earlier runs. holds reports whether the archive
// and memory still have what a receipt says. A session that was to be deleted and is
// there has no summary yet.
func NewKnown(receipts []Receipt, holds func(ctx context.Context, r Receipt) (bool, error)) *Known {
	k := &Known{receipts: map[[3]string][]Receipt{}, holds: holds}
	undone := UndoneBy(receipts)
	for _, r := range slices.Backward(receipts) {
		if _, gone := undone[r.ID]; gone || r.Archive == nil || r.Undo != nil || r.Deleting || r.Source.SHA256 == "" {
			continue
		}
		of := [3]string{r.Runtime, r.Agent, r.Session}
		k.receipts[of] = append(k.receipts[of], r)
	}
	return k
}

// Unchanged returns the receipt of the run that remembered the session as it is
// now, byte for byte; false if there is none. It reads the log for its hash if a
// receipt tells of a log of that length.
func (k *Known) Unchanged(ctx context.Context, store session.Store, ref session.Ref) (Receipt, bool, error) {
	if k == nil {
		return Receipt{}, false, nil
	}
	var now session.Snapshot
	for _, r := range k.receipts[[3]string{ref.Runtime, ref.Agent, ref.ID}] {
		isFile := store.Capabilities().SourceOf(ref) == nil
		if isFile && r.Source.Bytes != ref.Bytes {
			continue
		}
		if now.SHA256 == "" {
			var err error
			if now, err = HashOf(ctx, store, ref); err != nil {
				return Receipt{}, false, err
			}
		}
		if now.SHA256 != r.Source.SHA256 || now.Size != r.Source.Bytes {
			continue
		}
		if held, err := k.holds(ctx, r); err != nil || held {
			return r, held, err
		}
	}
	return Receipt{}, false, nil
}

// HashOf hashes a session as it is now.
func HashOf(ctx context.Context, store session.Store, ref session.Ref) (session.Snapshot, error) {
	if source := store.Capabilities().SourceOf(ref); source != nil {
		return SnapshotSource(ctx, source, ref)
	}
	log, err := openLog(nil, ref.Store, ref.Path)
	if err != nil {
		return session.Snapshot{}, err
	}
	defer log.Close()
	return session.TakeSnapshot(ctx, log, ref.Path)
}

// irreducible ends the plan of a session of which nothing can be cut away. One
// that an earlier run has remembered as it is needs nothing more.
func (p *Plan) irreducible(ctx context.Context, store session.Store, policy Policy, reason error) error {
	p.Irreducible = true
	if known, err := p.unchanged(ctx, store, policy); err != nil {
		return err
	} else if known {
		return p.stop(NothingToDo, reason.Error()+"; "+p.Reason)
	}
	return p.stop(NothingToDo, reason.Error())
}

// unchanged ends the plan of a session that is not to be changed, if an earlier
// run has remembered all of it.
func (p *Plan) unchanged(ctx context.Context, store session.Store, policy Policy) (bool, error) {
	if policy.SkipArchive || p.followed {
		return false, nil
	}
	r, same, err := policy.Known.Unchanged(ctx, store, p.Ref)
	switch {
	case errors.Is(err, errGone), errors.Is(err, fs.ErrNotExist), errors.Is(err, os.ErrPermission), errors.Is(err, session.ErrBusy):
		return false, nil // what reads it next says so
	case err != nil:
		return false, ctx.Err() // what cannot be compared is worked on again, which says why
	case !same:
		return false, nil
	}
	p.Remembered = &r
	return true, p.stop(NothingToDo, session.ReasonUnchanged.Text(r.At.UTC().Format("2006-01-02 15:04")))
}
