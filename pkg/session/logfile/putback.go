package logfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Begins reports whether the file of a name begins with the bytes of the
// snapshot. An error that is fs.ErrNotExist is returned where there is none,
// one that wraps [session.ErrUnsupported] for what can be no log.
func (c *Change) Begins(ctx context.Context, name string) (bool, error) {
	info, err := c.Dir.Root.Lstat(name)
	if err != nil {
		return false, err
	}
	if reason := Unusable(info); reason != "" {
		return false, Unsupported(c.Dir.At(name), reason)
	}
	f, err := durable.OpenRegularIn(c.Dir.Root, name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return c.Plan.Snapshot.Begins(ctx, f)
}

// OldLog finds the old log by its bytes: at its place or at the path Kept. from
// is "" if it is at neither. other is true if another log is at its place.
func (c *Change) OldLog(ctx context.Context) (from string, other bool, err error) {
	same, err := c.Begins(ctx, c.name())
	if err == nil && same {
		return c.Plan.Live, false, nil
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return "", err == nil, err
	}
	same, err = c.Begins(ctx, c.keptName())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil || !same:
		return "", false, err
	}
	return c.Plan.Kept, false, nil
}

// Source says where an old log comes back from.
type Source struct {
	// From is the path of its inode: where it lies now, or "" if only its bytes
	// are left.
	From string
	// Archived writes the bytes of the snapshot.
	Archived func(io.Writer) error
	// Like returns the file whose mode and owner a log that is made of its bytes
	// gets; nil for mode 0600.
	Like func() (os.FileInfo, error)
}

// PutBack gives the old log its place again: its inode if there is one, else a
// log made of the archived bytes, which are read back before it gets its name.
// What is at the place is never replaced: a [*session.BusyError] is returned
// for another log. A log that is back already is done.
func (c *Change) PutBack(ctx context.Context, source Source) error {
	there, err := c.Begins(ctx, c.name())
	switch {
	case err == nil && there:
		return durable.SyncDirIn(c.Dir.Root)
	case err == nil:
		return c.busy(session.ReasonOtherLog.Text())
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if source.From != "" && source.From != c.Plan.Live {
		err = c.rename(source.From, c.Plan.Live)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = c.makeLog(ctx, source)
	}
	switch {
	case errors.Is(err, durable.ErrExists):
		return c.busy(session.ReasonLogJustMade.Text())
	case err != nil:
		return fmt.Errorf("put the log back: %w", err)
	}
	if same, err := c.Begins(ctx, c.name()); err != nil || !same {
		// It is at its place, and its runtime goes on with it.
		return errors.Join(err, &session.BusyError{Path: c.Plan.Live, Reason: session.ReasonWrittenAgain.Text(), Begun: true})
	}
	return c.step("back")
}

// makeLog makes the log of its archived bytes.
func (c *Change) makeLog(ctx context.Context, source Source) error {
	like, err := source.Like()
	if err != nil {
		return err
	}
	return durable.CreateCheckedIn(c.Dir.Root, c.name(), like, source.Archived, func(temp string) error {
		f, err := durable.OpenRegularIn(c.Dir.Root, filepath.Base(temp))
		if err != nil {
			return err
		}
		defer f.Close()
		if same, err := c.Plan.Snapshot.Begins(ctx, f); err != nil || !same {
			return errors.Join(fmt.Errorf("read back %s: it is not the log that was rotated", c.Plan.Live), err)
		}
		return nil
	})
}

// TakeBack undoes [Change.PutBack] with the same source: the inode lies at the
// path Kept again, and a log that was made of its bytes goes, unless somebody
// has gone on with it in the moment in which it lay at its place, or can. What
// is not this log stays.
func (c *Change) TakeBack(ctx context.Context, source Source) error {
	if source.From == c.Plan.Live {
		return nil
	}
	there, err := c.Begins(ctx, c.name())
	if err != nil || !there {
		return nil // not there, or not ours
	}
	if info, err := c.Dir.look(c.Plan.Kept); err != nil || info != nil {
		return err // the bytes are there, and what is at its place stays
	}
	if err := c.rename(c.Plan.Live, c.Plan.Kept); err != nil {
		return fmt.Errorf("put the old log away again: %w", err)
	}
	if source.From != "" {
		return nil
	}
	return c.removeCopy()
}

// removeCopy removes a log at the path Kept that was made of archived bytes.
func (c *Change) removeCopy() error {
	log, err := durable.OpenRegularIn(c.Dir.Root, c.keptName())
	if err != nil {
		return nil // somebody has it open, and may go on with it
	}
	defer log.Close()
	release, err := Unheld(c.System, log)
	if err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return nil
	}
	defer release()
	info, err := log.Stat()
	if err != nil || info.Size() != c.Plan.Snapshot.Size {
		return err
	}
	return c.Dir.remove(c.Plan.Kept) // these bytes are in the archive
}
