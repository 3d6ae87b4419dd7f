package openclaw

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// closeFresh gives the log of the fresh session, which has no messages, the
// name of a closed one. An earlier run may have died before it came to this.
func (b *back) closeFresh() error {
	if b.plan.Fresh == "" {
		return durable.SyncDir(b.path)
	}
	fresh, _ := parseName(baseName(b.plan.Fresh))
	info, err := b.statIfThere(fresh.name)
	if err != nil || info == nil {
		return errors.Join(err, durable.SyncDir(b.path))
	}
	if b.log == nil && b.lease == nil { // not held yet: an earlier run has switched
		if err := b.pinFresh(fresh.name); err != nil {
			return b.begunBack(err)
		}
	}
	if err := durable.MoveFile(b.plan.Fresh, b.plan.FreshKept); err != nil {
		return fmt.Errorf("close the fresh log: %w", err)
	}
	return b.store.step("close")
}

// begunBack marks what is busy after the index was switched.
func (b *back) begunBack(err error) error {
	var busy *session.BusyError
	if errors.As(err, &busy) {
		busy.Begun = true
	}
	return err
}

// giveUp ends an undo that is busy before it has switched the index: the old
// log goes back to where it lay. Any other error leaves it to the next run.
func (b *back) giveUp(ctx context.Context, cause error) error {
	if !errors.Is(cause, session.ErrBusy) {
		return cause
	}
	if b.switched {
		return cause // the runtime names it already, and that stays
	}
	if err := b.takeBack(ctx); err != nil {
		return fmt.Errorf("%w; and the old log could not go back: %w", cause, err)
	}
	return cause
}

// takeBack undoes put. What was there before stays.
func (b *back) takeBack(ctx context.Context) error {
	if b.plan.From == b.rotation.Live {
		return nil
	}
	there, err := b.begins(ctx, b.name)
	if err != nil || !there {
		return nil // not there, or not ours
	}
	if info, err := b.statIfThere(b.kept); err != nil || info != nil {
		return err // the bytes are there, and what is at its place stays
	}
	if err := durable.MoveFile(b.rotation.Live, b.rotation.Kept); err != nil {
		return fmt.Errorf("put the old log away again: %w", err)
	}
	if b.plan.From != "" {
		return nil
	}
	return b.removeCopy()
}

// removeCopy removes a log that was made of archived bytes, if nobody has gone
// on with it in the moment in which it lay at its place, or can.
func (b *back) removeCopy() error {
	log, err := b.open(b.kept)
	if err != nil {
		return nil // somebody holds it: it is his
	}
	defer log.Close()
	lease, err := b.store.options.System.WriteLease(log)
	if err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return nil
	}
	if lease != nil {
		defer lease.Release()
	}
	info, err := log.Stat()
	if err != nil || info.Size() != b.rotation.Snapshot.Size {
		return err
	}
	return durable.RemoveFile(b.rotation.Kept) // these bytes are in the archive
}
