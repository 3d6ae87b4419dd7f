package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// restoreOver puts a log in the place of another.
func (c *Compactor) restoreOver(ctx context.Context, p *RestorePlan, in Intent) (RestoreResult, error) {
	replaced, err := c.secureReplaced(ctx, p)
	if err != nil {
		return RestoreResult{}, err
	}
	in.Archive, in.Settled = replaced, p.There.Size
	in.Rotation.Kept, in.Rotation.Snapshot, in.Restore.Spare = p.Place.Aside, *p.There, p.Place.Spare
	if err := c.Journal.Write(in); err != nil {
		return RestoreResult{}, fmt.Errorf("write the intent: %w", err)
	}
	kept, err := c.exchange(ctx, in, p.Place.Like)
	if err != nil {
		return RestoreResult{}, errors.Join(err, c.abandon(ctx, in))
	}
	result := RestoreResult{Outcome: Restored, Replaced: &replaced, Kept: kept}
	if err := c.record(ctx, p.Store, in); err != nil {
		return result, err
	}
	in.Switched = true
	return result, c.Journal.Write(in)
}

// secureReplaced archives what is at the place, as the plan has read it; an
// empty log has nothing to archive.
func (c *Compactor) secureReplaced(ctx context.Context, p *RestorePlan) (Archived, error) {
	log, err := openLog(p.Place.Ref.Store, p.Place.Path)
	if err != nil {
		return Archived{}, err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return Archived{}, fmt.Errorf("look at what is there: %w", err)
	}
	if err := p.There.Matches(info); err != nil {
		return Archived{}, err
	}
	if p.There.Size == 0 {
		return Archived{SHA256: p.There.SHA256}, nil
	}
	archived, err := c.Archiver.Put(ctx, p.Place.Ref, *p.There, io.NewSectionReader(log, 0, p.There.Size))
	if err != nil {
		return Archived{}, fmt.Errorf("archive what is there: %w", cutShort(p.Place.Ref, err))
	}
	if archived.SHA256 != p.There.SHA256 {
		return Archived{}, &session.BusyError{Path: p.Place.Path, Reason: "it changed while it was archived"}
	}
	return archived, nil
}

// abandon removes the copy that was written beside the place, if the log there
// was not replaced. Otherwise the intent stays for the next run.
func (c *Compactor) abandon(ctx context.Context, in Intent) error {
	snap, err := snapshotOf(ctx, in.Restore.Path)
	if err != nil || snap.SHA256 == in.Restore.Archive.SHA256 || ctx.Err() != nil {
		return nil // the first error says what happened; the next run settles
	}
	return c.settleRestore(ctx, nil, in)
}

// exchange writes the restored bytes beside the log, proves that nobody has the
// log open and that it still is what was archived, and exchanges the two. It
// returns where the old log's inode is then.
func (c *Compactor) exchange(ctx context.Context, in Intent, like os.FileInfo) (kept string, err error) {
	if err := c.writeCopy(ctx, in.Rotation.Kept, like, in.Restore.Archive); err != nil {
		return "", err
	}
	log, err := openLog(in.Rotation.Store, in.Restore.Path)
	if err != nil {
		return "", asBusy(in.Restore.Path, err)
	}
	defer log.Close()
	lease, err := c.System.WriteLease(log)
	if err != nil && !errors.Is(err, durable.ErrUnsupported) { // without leases the quiet period has to do
		return "", asBusy(in.Restore.Path, err)
	}
	if lease != nil {
		defer lease.Release()
	}
	if err := stillThere(in.Rotation.Snapshot); err != nil {
		return "", err
	}
	if lease == nil {
		log.Close() // some systems do not rename an open file
	} else if !lease.Held() {
		return "", &session.BusyError{Path: in.Restore.Path, Reason: "another program has it open"}
	}
	return c.swap(in)
}

// asBusy turns the ways in which somebody else has a log into a BusyError.
func asBusy(path string, err error) error {
	switch {
	case errors.Is(err, durable.ErrHeld):
		return &session.BusyError{Path: path, Reason: "another program has it open"}
	case errors.Is(err, errGone):
		return &session.BusyError{Path: path, Reason: "it was moved away just now"}
	}
	return err
}

// stillThere compares what is at a snapshot's path with the snapshot.
func stillThere(s session.Snapshot) error {
	info, err := os.Lstat(s.Path)
	if err != nil {
		return &session.BusyError{Path: s.Path, Reason: "it was moved away just now"}
	}
	return s.Matches(info)
}

// swap exchanges the log and the copy, and makes sure that it was this log: a
// program that replaces files by renaming needs no open descriptor, and could
// have put another one there in the last instant; where there are no leases it
// may have been written then. It goes back.
func (c *Compactor) swap(in Intent) (kept string, err error) {
	path, aside := in.Restore.Path, in.Rotation.Kept
	err = c.System.ExchangeFiles(aside, path)
	if errors.Is(err, durable.ErrUnsupported) {
		return in.Restore.Spare, c.swapByMoving(in)
	}
	if err != nil {
		return "", err
	}
	info, err := os.Lstat(aside)
	if err != nil {
		return "", fmt.Errorf("look at the replaced log: %w", err)
	}
	if changed := in.Rotation.Snapshot.MatchesMoved(info); changed != nil {
		if err := c.System.ExchangeFiles(aside, path); err != nil {
			return "", fmt.Errorf("put back a log that changed in the last instant: %w", err)
		}
		return "", changed
	}
	return aside, nil
}

// swapByMoving is for systems that cannot exchange two files: the log is
// missing for a moment, and a run that is killed in it is finished by the next.
func (c *Compactor) swapByMoving(in Intent) error {
	path, spare := in.Restore.Path, in.Restore.Spare
	if err := c.System.MoveFile(path, spare); err != nil {
		return fmt.Errorf("move the log aside: %w", err)
	}
	info, err := os.Lstat(spare)
	if err != nil {
		return fmt.Errorf("look at the replaced log: %w", err)
	}
	if changed := in.Rotation.Snapshot.MatchesMoved(info); changed != nil {
		if err := c.System.MoveFile(spare, path); err != nil {
			return fmt.Errorf("put back a log that changed in the last instant: %w", err)
		}
		return changed
	}
	err = c.System.MoveFile(in.Rotation.Kept, path)
	if errors.Is(err, durable.ErrExists) {
		return &session.BusyError{Path: path, Reason: "another log was begun while it was put aside"}
	}
	if err != nil {
		return fmt.Errorf("put the restored log in its place: %w", err)
	}
	return nil
}
