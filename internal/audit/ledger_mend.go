package audit

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/retention"
)

// againFor is for how long what is recorded again waits in the trash: nobody knows for
// how long it was to wait.
const againFor = 7 * 24 * time.Hour

// RestoreRecords mends what of the trash has lost its records, and returns how much. The
// record of a log is made again, and an archive comes back. The caller holds the lock.
func RestoreRecords(ctx context.Context, run *workspace.Run, archives *archive.Store) (n int, err error) {
	w, err := newWitness(ctx, run)
	if err != nil {
		return 0, err
	}
	for _, t := range []retention.Trash{run.SessionTrash(), run.ArchiveTrash()} {
		if err := t.SetAside(w.changed); err != nil {
			return 0, err
		}
	}
	lost, err := w.unrecordedLines()
	if err != nil {
		return 0, err
	}
	for _, path := range slices.Sorted(maps.Keys(lost)) {
		for _, l := range lost[path] {
			mend := recordArchive
			if l.Kind == retention.KindSession {
				mend = recordLog
			}
			if err := mend(ctx, run, archives, l, path); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// unrecordedLines are the lines about what waits in the trash and has no record there.
func (w *witness) unrecordedLines() (map[string][]retention.Line, error) {
	waiting, err := w.waiting()
	if err != nil {
		return nil, err
	}
	var items []retention.Item
	for _, t := range []retention.Trash{w.run.SessionTrash(), w.run.ArchiveTrash()} {
		more, err := t.List()
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	for path, lines := range waiting {
		waiting[path] = slices.DeleteFunc(lines, func(l retention.Line) bool {
			isOf := func(item retention.Item) bool { return item.From == path && item.At.UnixMilli() == l.Time.UnixMilli() }
			return slices.ContainsFunc(items, isOf) || w.settled(l, path)
		})
	}
	return waiting, nil
}

// recordLog makes the record of a log again. If the log is not in the trash either, the
// record waits for its time all the same, and then goes as if somebody had emptied it.
func recordLog(ctx context.Context, run *workspace.Run, archives *archive.Store, l retention.Line, _ string) error {
	of := retention.TrashedSession{Archive: l.Archive}
	if e, err := archives.Get(ctx, l.Archive); err == nil {
		of.Runtime, of.Agent, of.Session = e.Runtime, e.Agent, e.Session
	}
	item, err := retention.RecordOf(l, of, run.Now().UTC().Add(againFor))
	if err != nil {
		return err
	}
	return run.SessionTrash().RecordAgain(item)
}

// recordArchive brings an archive back whose record is lost, or notes that it is gone.
func recordArchive(ctx context.Context, run *workspace.Run, archives *archive.Store, l retention.Line, path string) error {
	to, _ := retention.PlaceOf(l, path)
	err := run.Pins.MoveFile(to, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.Action = retention.ActionPurge
	case err != nil && !errors.Is(err, durable.ErrExists):
		return err
	default:
		l.Action = retention.ActionUndelete
		if err := enterAgain(ctx, run, archives, l, path); err != nil {
			return err
		}
	}
	l.Time, l.Rule = run.Now().UTC(), "doctor --fix"
	return run.Audit().Append(l)
}

// enterAgain enters an archive again that lies at its place, as the ledger knows it.
func enterAgain(ctx context.Context, run *workspace.Run, archives *archive.Store, l retention.Line, path string) error {
	if _, err := archives.Get(ctx, l.Archive); !errors.Is(err, archive.ErrNotFound) {
		return err
	}
	return workspace.LedgerOf(run).Leaves(ctx, 0, func(_ int64, f ledger.Leaf) error {
		if f.ID != l.Archive || f.Kind != ledger.Made && f.Kind != ledger.Adopted {
			return nil
		}
		_, err := archive.Reenter(ctx, archives, archive.Lost{
			Meta:   archive.Meta{Runtime: f.Runtime, Agent: f.Agent, Session: f.Session, Reason: "adopt"},
			SHA256: f.SHA256, Bytes: f.Bytes, Dirs: []string{filepath.Dir(path)},
		})
		if errors.Is(err, archive.ErrMissing) {
			return nil // its file is not whole; the ledger says so from now on
		}
		return err
	})
}
