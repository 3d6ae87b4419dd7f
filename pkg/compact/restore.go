package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Restoration is a restore as the journal holds it.
type Restoration struct {
	Path    string   `json:"path"`    // where the log goes
	Archive Archived `json:"archive"` // whose bytes
	// Spare is where the replaced log goes on systems that cannot exchange two
	// files; on others it is at Rotation.Kept.
	Spare string `json:"spare,omitempty"`
	// Before is what the runtime's record beside the log said before a rotation
	// that is undone (session.Recorder).
	Before []session.IndexEntry `json:"before,omitempty"`
}

// RestoreResult says what a restore did.
type RestoreResult struct {
	Outcome  Outcome
	Replaced *Archived // the verified copy of what was there, or nil
	Kept     string    // where that log lies now, or ""
}

// Restore carries a plan out. A log that was not there is written to a
// temporary file, synced, and gets its name, which must still be free. A log
// that is there is archived first, the restored bytes are written beside it,
// and the two files are exchanged in one step while a lease proves that nobody
// has the old one open; its inode is kept and looked after by later runs, as
// after a rotation.
//
// The restored file has the time of the restore as its modification time, not
// that of the archived log: runtimes delete by age (Claude Code at its start,
// after 30 days) and continue what was written last (pi), so a log with its
// old time could be gone, or passed over, before anybody has looked at it.
//
// A journal entry is durable before the first change, so that the next run
// removes what a killed one leaves. A [*session.BusyError] changes nothing.
func (c *Compactor) Restore(ctx context.Context, p *RestorePlan) (RestoreResult, error) {
	if p.Outcome != Planned {
		return RestoreResult{Outcome: p.Outcome}, nil
	}
	in := Intent{Schema: 1, ID: c.NewID(), Kind: KindRestore, Restore: &Restoration{Path: p.Place.Path, Archive: p.Archive}}
	in.Rotation = session.Rotation{
		Runtime: p.Place.Ref.Runtime, Agent: p.Place.Ref.Agent, Session: p.Place.Ref.ID, Store: p.Place.Ref.Store, Live: p.Place.Path, At: c.Now().UTC(),
	}
	if p.There == nil {
		result, err := c.restoreNew(ctx, p, in)
		if err != nil {
			return result, err
		}
		return result, c.Journal.Remove(in.ID)
	}
	return c.restoreOver(ctx, p, in)
}

// restoreNew puts a log where there is none. Its intent stays.
func (c *Compactor) restoreNew(ctx context.Context, p *RestorePlan, in Intent) (RestoreResult, error) {
	if err := c.Journal.Write(in); err != nil {
		return RestoreResult{}, fmt.Errorf("write the intent: %w", err)
	}
	err := c.makePlace(ctx, p)
	if err == nil {
		err = c.writeCopy(ctx, p.Place.Path, p.Place.Like, p.Archive)
	}
	if errors.Is(err, durable.ErrExists) {
		err = &session.BusyError{Path: p.Place.Path, Reason: "somebody has made it just now"}
	}
	if err != nil {
		return RestoreResult{}, errors.Join(err, c.dropRestore(in))
	}
	return RestoreResult{Outcome: Restored}, c.record(ctx, p.Store, in)
}

// record lets the store say beside the log what is in it now.
func (c *Compactor) record(ctx context.Context, store any, in Intent) error {
	recorder, ok := store.(session.Recorder)
	if !ok {
		return nil
	}
	if err := recorder.Record(ctx, in.Restore.Path, in.Restore.Before); err != nil {
		return fmt.Errorf("note beside the log what is in it: %w", err)
	}
	return nil
}

// makePlace makes the directory, if it is missing, and asks the store again:
// what is on the way to it may lead elsewhere.
func (c *Compactor) makePlace(ctx context.Context, p *RestorePlan) error {
	if err := durable.MakeDir(filepath.Dir(p.Place.Path), 0o700); err != nil || p.Store == nil {
		return err
	}
	place, err := p.Store.Place(ctx, p.Place.Path, c.Now())
	if err == nil && place.There {
		err = durable.ErrExists
	}
	return err
}

// dropRestore ends a restore that changed nothing.
func (c *Compactor) dropRestore(in Intent) error {
	if err := in.Restore.sweep(in.Rotation.Kept); err != nil {
		return err
	}
	return c.Journal.Remove(in.ID)
}

// writeCopy makes a file of an archive's bytes. They are read back before it
// gets its name: from then on an agent may write it.
func (c *Compactor) writeCopy(ctx context.Context, path string, like os.FileInfo, a Archived) error {
	write := func(w io.Writer) error { return c.copyArchive(ctx, w, a) }
	return durable.CreateChecked(path, like, write, func(temp string) error { return confirm(ctx, temp, a) })
}

// copyArchive copies an archived log. The reader checks length and hash at its
// end, so nothing else is ever given the log's name.
func (c *Compactor) copyArchive(ctx context.Context, w io.Writer, a Archived) error {
	r, err := c.Archiver.Open(ctx, a)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	defer r.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 256<<10))
	if err != nil {
		return fmt.Errorf("copy the archive: %w", err)
	}
	if n != a.Bytes {
		return fmt.Errorf("copy the archive: %d bytes, expected %d", n, a.Bytes)
	}
	return nil
}

// confirm reads a file and compares it with an archive's hash.
func confirm(ctx context.Context, path string, a Archived) error {
	snap, err := snapshotOf(ctx, path)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if snap.SHA256 != a.SHA256 {
		return fmt.Errorf("read back %s: it has sha256 %s, expected %s", path, snap.SHA256, a.SHA256)
	}
	return nil
}

func snapshotOf(ctx context.Context, path string) (session.Snapshot, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return session.Snapshot{}, err
	}
	defer f.Close()
	return session.TakeSnapshot(ctx, f, path)
}
