package compact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// planUnshortening is for a compaction that made the log shorter: the archived
// log takes its place again, if it is what the compaction left.
func (c *Compactor) planUnshortening(ctx context.Context, store session.Store, p *UndoPlan) error {
	restorer, ok := store.(session.Restorer)
	if !ok {
		return fmt.Errorf("%w: logs of %s cannot be put back", session.ErrUnsupported, p.Receipt.Runtime)
	}
	place, err := restorer.Place(ctx, p.Receipt.Rotation.Live, c.Now())
	if err != nil {
		return err
	}
	if !p.Force {
		if err := c.asItWasLeft(ctx, p); err != nil {
			return err
		}
	}
	p.Restore, err = c.PlanRestore(ctx, RestoreRequest{
		Archive: p.Archive, ModTime: p.Receipt.At, Place: place, Store: restorer, Force: true, Quiet: p.Policy.Quiet,
	})
	return err
}

// asItWasLeft returns a [*session.NewerError] unless the log is what the
// compaction left, or what it was before.
func (c *Compactor) asItWasLeft(ctx context.Context, p *UndoPlan) error {
	path, after := p.Receipt.Rotation.Live, *p.Receipt.After
	log, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody took it away: it comes back
	}
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	before := session.Snapshot{Size: p.Archive.Bytes, SHA256: p.Archive.SHA256}
	left := session.Snapshot{Size: after.Size, SHA256: after.SHA256}
	if after.SHA256 == "" { // only appended to
		left = before
	}
	same, err := left.Begins(ctx, log)
	if err == nil && same && info.Size() == after.Size {
		return nil
	}
	if err == nil && info.Size() == before.Size {
		same, err = before.Begins(ctx, log)
		if err == nil && same {
			return nil
		}
	}
	return errors.Join(err, &session.NewerError{Path: path, Session: p.Receipt.Session, GoneOn: true})
}

// undoShortening is a restore, and what comes after an undo. What was said
// since the compaction is archived and remembered before it goes.
func (c *Compactor) undoShortening(ctx context.Context, store session.Store, p *UndoPlan) (Receipt, error) {
	in := c.newUndo(p)
	in.Restore = &Restoration{Path: p.Restore.Place.Path, Archive: p.Archive}
	if p.Restore.Outcome == NothingToDo { // it is back already
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
	return c.concludeUnshortening(ctx, store, in, p.Policy)
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

// concludeUnshortening proves the undo. What is left of its journal entry is a
// restore, whose replaced log is to be looked after by later runs.
func (c *Compactor) concludeUnshortening(ctx context.Context, store session.Store, in Intent, policy Policy) (Receipt, error) {
	receipt, err := c.proveUndo(ctx, store, in, policy)
	if err != nil {
		return receipt, err
	}
	written, err := c.journalled(in.ID)
	if err != nil || written == nil {
		return receipt, err
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

// settleUndoneShortening finishes the undo of a compaction that made a log
// shorter: the log is back if what was there lies beside it.
func (c *Compactor) settleUndoneShortening(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	back, err := c.isBack(ctx, in)
	if err != nil {
		return err
	}
	if back {
		if _, err := c.concludeUnshortening(ctx, store, in, policy); err != nil {
			return err
		}
		in.Kind = KindRestore
	}
	return c.settleRestore(ctx, store, in)
}

// isBack reports whether the log that was replaced lies beside the one that was
// put back, or, where there was none, whether the log is there.
func (c *Compactor) isBack(ctx context.Context, in Intent) (bool, error) {
	for _, path := range []string{in.Rotation.Kept, in.Restore.Spare} {
		if path == "" {
			continue
		}
		snap, err := snapshotOf(ctx, path)
		if errors.Is(err, fs.ErrNotExist) {
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
	if in.Rotation.Kept != "" {
		return false, nil
	}
	snap, err := snapshotOf(ctx, in.Restore.Path)
	return err == nil && snap.SHA256 == in.Restore.Archive.SHA256, nil
}
