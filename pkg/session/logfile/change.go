package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Change is one change of a log on its way: [Change.Append], [Change.Replace],
// [Change.MoveAside], [Change.PutBack] or [Change.Dispose]. An adapter that has
// a step of its own between the last look at the log and the switch, an index
// say, goes the same way in two halves: [Change.Hold] and what [Held] can do.
type Change struct {
	Dir *Dir // of the log
	// Plan says what becomes of the log: Live, Kept and Snapshot always, Record
	// for Append, After for Replace.
	Plan session.Shortening
	// Switched is true once the runtime goes on without this log, whatever
	// comes: from then on its bytes may change, and its inode is kept as it is.
	Switched bool
	// Linked is true where a file may go that has other names (hard links): they
	// stay.
	Linked bool
	// KeepTime gives a new log the modification time of the old one, for a
	// runtime that goes on with the log of a directory that was written last.
	KeepTime bool
	// Step is called after each step with its name; tests stop here. It may
	// be nil.
	Step func(name string) error
	// System says what of the system is not used; the zero value uses all.
	System durable.System
}

// ChangeOf returns a change of the log that a snapshot shows, wherever it lies,
// and opens its directory, which the caller closes. kept is the path that the
// log gets when it is moved aside.
func ChangeOf(pins *durable.Pins, snap session.Snapshot, kept string) (*Change, error) {
	d, err := OpenPinned(pins, filepath.Dir(snap.Path))
	if err != nil {
		return nil, fmt.Errorf("open the directory of %s: %w", snap.Path, err)
	}
	return &Change{Dir: d, Plan: session.Shortening{Rotation: session.Rotation{Live: snap.Path, Kept: kept, Snapshot: snap}}}, nil
}

func (c *Change) step(name string) error {
	if c.Step == nil {
		return nil
	}
	return c.Step(name)
}

func (c *Change) name() string { return filepath.Base(c.Plan.Live) }

func (c *Change) keptName() string { return filepath.Base(c.Plan.Kept) }

func (c *Change) busy(reason string) error {
	return &session.BusyError{Path: c.Plan.Live, Reason: reason}
}

// rename gives a file another name, which nothing has.
func (c *Change) rename(from, to string) error { return c.Dir.rename(c.System.MoveFileIn, from, to) }

// exchange swaps the names of two files in one step.
func (c *Change) exchange(a, b string) error { return c.Dir.rename(c.System.ExchangeFilesIn, a, b) }

// Begun marks an error that is a [*session.BusyError] as one of a change that is
// done or half done: the old log is not at its place any more.
func (c *Change) Begun(err error) error {
	var busy *session.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	for _, path := range []string{c.Plan.Kept, c.next().path} {
		if info, statErr := c.Dir.look(path); statErr == nil && info != nil && c.isOld(info) {
			busy.Begun = true
		}
	}
	return err
}

// Untaken returns a [*session.BusyError] if another file is at the log's place
// and this change has not put it there: the log was never taken. It is for an
// adapter that writes something beside the log before it holds the log, and
// gives the verdict early that [Held.Check] would give.
func (c *Change) Untaken() error {
	live, err := c.Dir.Stat(c.name())
	if err != nil || live == nil || c.isOld(live) {
		return err
	}
	for _, path := range []string{c.Plan.Kept, c.next().path} {
		old, err := c.Dir.look(path)
		if err != nil || old != nil && c.isOld(old) {
			return err // the change is done, or half done
		}
	}
	return c.busy(session.ReasonReplaced.Text())
}

// bytesAt reads n bytes of a log, fewer at its end.
func bytesAt(f *os.File, at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := f.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the end of the log: %w", err)
	}
	return b[:got], nil
}

// Append appends the plan's record to the log with one write. It returns a
// [*session.BusyError] and changes nothing when somebody has the log open or
// when it is not the plan's snapshot any more. A log that already has the
// record is left as it is; one that has only its beginning, because the
// machine stopped in the middle of the write, gets the rest.
func (c *Change) Append() error {
	if c.Plan.Record == "" {
		return fmt.Errorf("append to %s: the plan has no record", c.Plan.Live)
	}
	held, err := c.holdToAppend()
	if err != nil {
		return c.appendBegun(err)
	}
	defer held.Close()
	rest, err := held.missing()
	if err != nil {
		return err
	}
	if len(rest) == len(c.Plan.Record) {
		if err := held.Check(); err != nil {
			return err
		}
	}
	// With no rest it is still synced: the run that wrote the record may have
	// died before it was durable.
	if err := held.Append(rest); err != nil {
		return err
	}
	return c.step("append")
}

// appendBegun marks a log that is busy and is longer than the snapshot: the record,
// or its beginning, may be in it already.
func (c *Change) appendBegun(err error) error {
	var busy *session.BusyError
	if info, statErr := c.Dir.Stat(c.name()); errors.As(err, &busy) && statErr == nil && info != nil {
		now := session.Observe(c.Plan.Live, info)
		busy.Begun = now.SameFile(c.Plan.Snapshot) && now.Size > c.Plan.Snapshot.Size
	}
	return err
}

// missing returns what of the record is still to be written.
func (h *Held) missing() ([]byte, error) {
	info, err := h.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at log: %w", err)
	}
	record, snap := []byte(h.change.Plan.Record), h.change.Plan.Snapshot
	now := session.Observe(h.change.Plan.Live, info)
	if !now.SameFile(snap) || now.Size <= snap.Size {
		return record, nil // check says what is wrong, if anything is
	}
	tail, err := bytesAt(h.file, snap.Size, len(record))
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(record, tail) {
		return nil, snap.Matches(info)
	}
	return record[len(tail):], nil
}

// MoveAside gives the log the name Kept, so that its runtime finds none and
// starts fresh. It returns a [*session.BusyError] and changes nothing when
// somebody has the log open or when it is not the plan's snapshot any more. A
// log that is at its new name is done, and left as it is.
func (c *Change) MoveAside(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	live, err := c.Dir.Stat(c.name())
	if err != nil {
		return err
	}
	kept, err := c.Dir.look(c.Plan.Kept)
	switch {
	case err != nil:
		return err
	case live != nil && kept != nil && os.SameFile(live, kept):
		return c.move() // an earlier run died inside the move
	case kept != nil && (live == nil || c.isOld(kept)):
		// Inode numbers tell which file it is, but after a restart some file
		// systems have others: one that is only there counts too.
		return durable.SyncDirIn(c.Dir.Root)
	case kept != nil:
		return c.busy(session.ReasonFileAt.Text(c.Plan.Kept))
	}
	held, err := c.Hold()
	if err != nil {
		return err
	}
	defer held.Close()
	if err := held.Check(); err != nil {
		return err
	}
	return held.MoveAside()
}

// Dispose removes the kept inode of an old log for good. It is called when
// every byte of it is in a verified archive and nobody has it open. A file
// that is not that inode any more, or that was changed without growing, stays.
func (c *Change) Dispose() error {
	info, err := c.Dir.look(c.Plan.Kept)
	if err != nil || info == nil {
		return err
	}
	now, was := session.Observe(c.Plan.Kept, info), c.Plan.Snapshot
	changed := now.Size < was.Size || now.Size == was.Size && !now.ModTime.Equal(was.ModTime)
	if !was.SameFile(now) || changed || Unusable(info) != "" {
		return nil
	}
	return c.Dir.remove(c.Plan.Kept)
}
