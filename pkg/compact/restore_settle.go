package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// replaces reports whether a restore takes the place of a log: only then there
// is a second name for that one.
func (in Intent) replaces() bool { return in.Restore.Spare != "" }

// settleRestore finishes a restore that an earlier run began. A log that was
// not there before is there whole or not at all; one that was replaced is
// looked after like a rotated one.
func (c *Compactor) settleRestore(ctx context.Context, store session.Store, in Intent) error {
	if err := in.Restore.sweep(in.Rotation.Kept); err != nil {
		return err
	}
	if err := c.recordRestored(ctx, store, in); err != nil {
		return err
	}
	if !in.replaces() {
		return c.dropRestore(in)
	}
	for _, kept := range []string{in.Rotation.Kept, in.Restore.Spare} {
		if kept == "" {
			continue
		}
		held, err := c.settleAside(ctx, store, in, kept)
		if err == nil { // the log may have come to its place only now
			err = c.recordRestored(ctx, store, in)
		}
		if err != nil || held {
			return err
		}
	}
	return c.Journal.Remove(in.ID)
}

// recordRestored is record for a restore that was killed before it came to it.
func (c *Compactor) recordRestored(ctx context.Context, store session.Store, in Intent) error {
	if _, records := store.(session.Recorder); in.Switched || !records {
		return nil
	}
	back, err := c.isBack(ctx, in)
	if err != nil || !back {
		return err
	}
	return c.record(ctx, store, in)
}

// settleAside deals with one of the files beside a restored log: a copy of the
// archive that was not needed, or the log that was replaced. held is true when
// a writer may still have that one open, so that the next run must look again.
func (c *Compactor) settleAside(ctx context.Context, store session.Store, in Intent, path string) (held bool, err error) {
	kept, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer kept.Close()
	in.Rotation.Kept = path
	free, release := c.unheld(kept, in)
	defer release()
	snap, err := session.TakeSnapshot(ctx, kept, path)
	if errors.Is(err, session.ErrBusy) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", path, err)
	}
	if snap.SHA256 == in.Restore.Archive.SHA256 {
		return false, c.settleUnused(in, path)
	}
	if snap.Size > 0 && (snap.SHA256 != in.Archive.SHA256 || c.readBack(ctx, in.Archive) != nil) {
		if err := c.archiveReplaced(ctx, in, lateLog{kept, snap}); err != nil {
			return false, err
		}
	}
	if !free {
		return true, nil
	}
	return false, c.disposeReplaced(ctx, store, in, path)
}

// settleUnused deals with a copy that did not come to its place: where files
// cannot be exchanged, the log may be missing for a moment, and a run that was
// killed in it is finished; else the copy goes.
func (c *Compactor) settleUnused(in Intent, path string) error {
	if _, err := os.Lstat(in.Restore.Path); errors.Is(err, fs.ErrNotExist) {
		return c.System.MoveFile(path, in.Restore.Path)
	}
	return durable.RemoveFile(path)
}

func (c *Compactor) archiveReplaced(ctx context.Context, in Intent, late lateLog) error {
	ref := session.Ref{
		Runtime: in.Rotation.Runtime, Agent: in.Rotation.Agent, ID: in.Rotation.Session,
		Store: in.Rotation.Store, Path: in.Rotation.Kept, Kind: session.KindReset,
	}
	archived, err := c.Archiver.Put(ctx, ref, late.snap, io.NewSectionReader(late.file, 0, late.snap.Size))
	if err != nil {
		return fmt.Errorf("archive late lines: %w", err)
	}
	if archived.SHA256 != late.snap.SHA256 {
		return &session.BusyError{Path: ref.Path, Reason: "it changed while it was archived"}
	}
	return nil
}

// disposeReplaced removes a replaced log where that is this tool's to do, like
// a rotated one: with pi, and outside of every store.
func (c *Compactor) disposeReplaced(ctx context.Context, store session.Store, in Intent, path string) error {
	if in.Rotation.Store == "" {
		return durable.RemoveFile(path)
	}
	if disposer, ok := store.(Disposer); ok {
		return disposer.Dispose(ctx, in.Rotation)
	}
	return nil
}

// sweep removes the temporary files that a killed run left beside a path for
// this restore; those of others stay.
func (r *Restoration) sweep(kept string) error {
	left, err := durable.Leftovers(filepath.Dir(r.Path), 0)
	if err != nil {
		return fmt.Errorf("sweep beside %s: %w", r.Path, err)
	}
	for _, temp := range left {
		ours := slices.ContainsFunc([]string{r.Path, kept}, func(path string) bool {
			base := filepath.Base(path)
			return path != "" && strings.HasPrefix(filepath.Base(temp), "."+base[:min(len(base), 200)]) // durable cuts longer ones
		})
		if !ours {
			continue
		}
		if err := durable.RemoveFile(temp); err != nil {
			return err
		}
	}
	return nil
}
