package compact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// planPutBack is for a change that the store does not reverse by itself: the
// archived log takes its place again, if what is there is what the compaction
// left.
func (c *Compactor) planPutBack(ctx context.Context, store session.Store, p *UndoPlan) error {
	restorer, ok := store.(session.Restorer)
	if !ok {
		return fmt.Errorf("%w: logs of %s cannot be put back", session.ErrUnsupported, p.Receipt.Runtime)
	}
	place, err := restorer.Place(ctx, p.Receipt.Rotation.Live, c.Now())
	if err != nil {
		return err
	}
	if !p.Force {
		if err := c.notGoneOn(ctx, store, p); err != nil {
			return err
		}
	}
	if err := c.letGo(p.Receipt.Rotation.Kept); err != nil {
		return err
	}
	p.Restore, err = c.PlanRestore(ctx, RestoreRequest{
		Archive: p.Archive, ModTime: p.Receipt.At, Place: place, Store: restorer, Force: true, Quiet: p.Policy.Quiet,
	})
	return err
}

// notGoneOn returns a [*session.NewerError] if anything was said since the
// compaction: in the log itself, or in another one that has taken its place.
func (c *Compactor) notGoneOn(ctx context.Context, store session.Store, p *UndoPlan) error {
	if err := c.asItWasLeft(ctx, p); err != nil {
		return err
	}
	if successor, ok := store.(session.Successor); ok {
		return successor.Succeeded(ctx, *p.Receipt.Rotation)
	}
	return nil
}

// letGo returns a [*session.BusyError] while a program has the old log open
// that was moved aside: what it writes there would be missing from the log that
// comes back. Where there are no leases, later runs look after it.
func (c *Compactor) letGo(kept string) error {
	if kept == "" {
		return nil
	}
	log, err := durable.OpenRegular(kept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return asBusy(kept, err)
	}
	defer log.Close()
	lease, err := c.System.WriteLease(log)
	if errors.Is(err, durable.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return asBusy(kept, err)
	}
	return lease.Release()
}

// asItWasLeft returns a [*session.NewerError] unless the log is what the
// compaction left, or what it was before.
func (c *Compactor) asItWasLeft(ctx context.Context, p *UndoPlan) error {
	path := p.Receipt.Rotation.Live
	log, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it comes back
	}
	if err != nil {
		return fmt.Errorf("open log: %w", asBusy(path, err))
	}
	defer log.Close()
	before := session.LogProof{Size: p.Archive.Bytes, SHA256: p.Archive.SHA256}
	for _, known := range []session.LogProof{p.Receipt.left(), before} {
		same, err := isLog(ctx, log, known, p.Receipt.Source)
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		if same {
			return nil
		}
	}
	return &session.NewerError{Path: path, Session: p.Receipt.Session, GoneOn: true}
}

// left is the log as the compaction left it. Where the session starts fresh
// there is none, or an empty one.
func (r Receipt) left() session.LogProof {
	nothing := sha256.Sum256(nil)
	if r.After == nil || r.After.Size == 0 {
		return session.LogProof{SHA256: hex.EncodeToString(nothing[:])}
	}
	return *r.After
}

// isLog reports whether an open log has exactly the bytes of a proof. One that
// was only appended to has the bytes of source first.
func isLog(ctx context.Context, log *os.File, known session.LogProof, source SourceProof) (bool, error) {
	info, err := log.Stat()
	if err != nil || info.Size() != known.Size {
		return false, err
	}
	if known.SHA256 != "" {
		return session.Snapshot{Size: known.Size, SHA256: known.SHA256}.Begins(ctx, log)
	}
	same, err := session.Snapshot{Size: source.Bytes, SHA256: source.SHA256}.Begins(ctx, log)
	if err != nil || !same || known.Added == "" {
		return same, err
	}
	added := sha256.New()
	_, err = io.Copy(added, io.NewSectionReader(log, source.Bytes, known.Size-source.Bytes))
	return hex.EncodeToString(added.Sum(nil)) == known.Added, err
}

// putBack is a restore, and what comes after an undo. What was said since the
// compaction is archived and remembered before it goes.
func (c *Compactor) putBack(ctx context.Context, store session.Store, p *UndoPlan) (Receipt, error) {
	in := c.newUndo(p)
	in.Restore = &Restoration{Path: p.Restore.Place.Path, Archive: p.Archive, Before: p.Receipt.Rotation.Before}
	if p.Restore.Outcome == NothingToDo { // it is back already
		if err := c.record(ctx, store, in); err != nil {
			return Receipt{}, err
		}
		return c.proveUndo(ctx, store, in, p.Policy)
	}
	var err error
	if p.Restore.There == nil {
		_, err = c.restoreNew(ctx, p.Restore, in)
	} else if in.Receipt.Undo.Newer, err = c.rememberReplaced(ctx, store, p); err == nil {
		_, err = c.restoreOver(ctx, p.Restore, in)
	}
	if err != nil {
		return Receipt{}, err
	}
	return c.concludePutBack(ctx, store, in, p.Policy)
}

// rememberReplaced stores what was said since the compaction, with an archive
// of its own, which it returns; nil if nothing was said.
func (c *Compactor) rememberReplaced(ctx context.Context, store session.Store, p *UndoPlan) (*Archived, error) {
	newer := (*session.NewerError)(nil)
	if err := c.asItWasLeft(ctx, p); !errors.As(err, &newer) {
		return nil, err
	}
	archived, err := c.secureReplaced(ctx, p.Restore)
	if err != nil {
		return nil, err
	}
	ref := p.Restore.Place.Ref
	ref.ID = p.Receipt.Session
	return &archived, c.rememberLate(ctx, store, ref, archived, p.Policy)
}

// concludePutBack proves the undo. What is left of its journal entry is a
// restore, whose replaced log is to be looked after by later runs.
func (c *Compactor) concludePutBack(ctx context.Context, store session.Store, in Intent, policy Policy) (Receipt, error) {
	receipt, err := c.proveUndo(ctx, store, in, policy)
	if err != nil {
		return receipt, err
	}
	written, err := c.journalled(in.ID)
	if err != nil || written == nil {
		return receipt, err
	}
	if !written.replaces() {
		return receipt, c.Journal.Remove(in.ID)
	}
	written.Kind, written.Switched = KindRestore, true
	return receipt, c.Journal.Write(*written)
}

// journalled returns the journal's entry with this id, nil if there is none.
func (c *Compactor) journalled(id string) (*Intent, error) {
	in, err := readIntent(c.Journal.Path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &in, err
}

// settlePutBack finishes an undo that an earlier run began: the log is back if
// what was there lies beside it.
func (c *Compactor) settlePutBack(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	back, err := c.isBack(ctx, in)
	if err != nil {
		return err
	}
	if back {
		if err := c.record(ctx, store, in); err != nil {
			return err
		}
		if _, err := c.concludePutBack(ctx, store, in, policy); err != nil {
			return err
		}
		in.Kind, in.Switched = KindRestore, true
	}
	return c.settleRestore(ctx, store, in)
}

// isBack reports whether the log that was replaced lies beside the one that was
// put back, or, where there was none, whether the log is there; the runtime may
// have gone on with it.
func (c *Compactor) isBack(ctx context.Context, in Intent) (bool, error) {
	if !in.replaces() {
		return c.begins(ctx, in.Restore)
	}
	for _, path := range []string{in.Rotation.Kept, in.Restore.Spare} {
		snap, err := snapshotOf(ctx, path)
		if path == "" || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		if snap.SHA256 != in.Restore.Archive.SHA256 {
			_, err := os.Lstat(in.Restore.Path)
			return err == nil, nil
		}
	}
	return false, nil
}

// begins reports whether there is a log at the place that begins with the
// restored bytes.
func (c *Compactor) begins(ctx context.Context, r *Restoration) (bool, error) {
	log, err := durable.OpenRegular(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, asBusy(r.Path, err)
	}
	defer log.Close()
	return session.Snapshot{Size: r.Archive.Bytes, SHA256: r.Archive.SHA256}.Begins(ctx, log)
}
