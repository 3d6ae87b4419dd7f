package logfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Held is a log that nobody else has open, as far as the system can tell: from
// [Change.Hold] until Close. Whoever opens it meanwhile waits, so it is held
// for milliseconds.
//
// This is the one place where a log is taken from its runtime, and the order
// is always the same:
//
//	held, err := change.Hold() // open it without following links, take the lease
//	defer held.Close()
//	err = held.Check()         // compare it with the snapshot, ask who waits
//	err = held.MoveAside()     // switch, look again, and put it back if it was another one
type Held struct {
	change *Change
	file   *os.File
	opened os.FileInfo    // of the file, as it was opened
	lease  *durable.Lease // nil where the system has none
}

// Hold opens the log for reading, without following a link, and takes a lease
// on it, which proves that nobody else has it open. Where there are no leases
// the caller's quiet period has to do. What the log is has not been compared
// then. A [*session.BusyError] is returned when somebody has it open or when
// there is no such file any more.
func (c *Change) Hold() (*Held, error) { return c.hold(durable.OpenRegularIn) }

// holdToAppend is [Change.Hold] for [Held.Append].
func (c *Change) holdToAppend() (*Held, error) { return c.hold(durable.OpenAppendIn) }

func (c *Change) hold(open func(*os.Root, string) (*os.File, error)) (*Held, error) {
	file, err := open(c.Dir.Root, c.name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, Gone(c.Plan.Live)
	case errors.Is(err, durable.ErrHeld):
		return nil, c.busy(session.ReasonHeldElsewhere.Text())
	case errors.Is(err, durable.ErrNotRegular):
		return nil, c.busy(session.ReasonNotRegularNow.Text())
	case err != nil:
		return nil, fmt.Errorf("open log: %w", err)
	}
	h := &Held{change: c, file: file}
	if err := h.take(); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// take takes the lease, where there is one to take.
func (h *Held) take() (err error) {
	if h.opened, err = h.file.Stat(); err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	h.lease, err = h.change.System.WriteLease(h.file)
	switch {
	case errors.Is(err, durable.ErrHeld):
		return h.change.busy(session.ReasonHeldElsewhere.Text())
	case err != nil && !errors.Is(err, durable.ErrUnsupported):
		return fmt.Errorf("ask who has the log open: %w", err)
	}
	return h.change.step("lease")
}

// Close lets those who wait for the log go on. Closing it twice is no error.
func (h *Held) Close() {
	if h.lease != nil {
		_ = h.lease.Release() // closing does it too
	}
	_ = h.file.Close() // what was written is synced
}

// Leased reports whether the system has proven that nobody else has the log
// open. Without a lease nobody can tell.
func (h *Held) Leased() bool { return h.lease != nil }

// File is the open log.
func (h *Held) File() *os.File { return h.file }

// Check compares the log with the snapshot, as [Held.InPlace] does, and then
// asks whether somebody waits for it. Right after it comes the switch.
func (h *Held) Check() error {
	if err := h.InPlace(); err != nil {
		return err
	}
	if err := h.change.step("check"); err != nil {
		return err
	}
	if h.lease != nil && !h.lease.Held() {
		return h.change.busy(session.ReasonHeldElsewhere.Text())
	}
	return nil
}

// InPlace returns a [*session.BusyError] unless the log, by its descriptor and
// by its name, is one file, and the one of the snapshot with its bytes: a lease
// tells of those who open it, not of those who put another file at its name.
// Once the change has [Change.Switched], its bytes may be others.
func (h *Held) InPlace() error {
	c := h.change
	if err := c.Dir.InPlace(); err != nil { // what switches works on paths
		return err
	}
	named, err := c.Dir.Stat(c.name())
	switch {
	case err != nil:
		return err
	case named == nil:
		return Gone(c.Plan.Live)
	case !os.SameFile(h.opened, named):
		return c.busy(session.ReasonReplaced.Text())
	case c.Switched:
		return nil
	}
	if reason := Unusable(named); reason != "" && !c.Linked {
		return c.busy(reason)
	}
	return c.Plan.Snapshot.Matches(named)
}

// Append appends a record with one write and syncs it. Without a record the
// log is only synced.
func (h *Held) Append(record []byte) error { return durable.AppendRecord(h.file, record) }

// MoveAside gives the log's inode the name Kept, and makes sure that it was
// this log, as it was archived: a program that replaces files by renaming needs
// no open descriptor, and could have put another one at the name in the last
// instant; where there are no leases the log may have been written then. It
// goes back, and a [*session.BusyError] is returned. Once the change has
// Switched, nothing goes back: the inode is kept, whatever is in it.
func (h *Held) MoveAside() error {
	if h.lease == nil {
		h.Close() // some systems do not rename an open file
	}
	c := h.change
	if err := c.move(); err != nil || c.Switched {
		return h.moved(err)
	}
	moved, err := c.Dir.look(c.Plan.Kept)
	if err != nil || moved == nil {
		return err
	}
	changed := h.changedAs(moved)
	if changed == nil {
		return nil
	}
	if err := c.rename(c.Plan.Kept, c.Plan.Live); err != nil {
		return fmt.Errorf("put back a log that changed in the last instant: %w", err)
	}
	return changed
}

// moved marks a move that is busy although the log has its new name: where the
// system can only link and unlink, another file can take the old name between
// the two. Whoever planned the move must go on knowing of it.
func (h *Held) moved(err error) error {
	var busy *session.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	if kept, statErr := h.change.Dir.look(h.change.Plan.Kept); statErr == nil && kept != nil && os.SameFile(kept, h.opened) {
		busy.Begun = true
	}
	return err
}

// changedAs returns a [*session.BusyError] if a file that has come from the
// log's place is not the log that was checked. While a lease is held, that one
// cannot have been written.
func (h *Held) changedAs(moved os.FileInfo) error {
	if !os.SameFile(moved, h.opened) {
		return h.change.busy(session.ReasonReplaced.Text())
	}
	if h.lease == nil {
		return h.change.Plan.Snapshot.MatchesMoved(moved)
	}
	return nil
}

// move gives whatever is at the log's place the name Kept.
func (c *Change) move() error {
	err := c.rename(c.Plan.Live, c.Plan.Kept)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Gone(c.Plan.Live)
	case errors.Is(err, durable.ErrExists):
		return c.busy(session.ReasonFileAt.Text(c.Plan.Kept))
	case err != nil:
		return fmt.Errorf("move the log aside: %w", err)
	}
	return c.step("move")
}

// Exchange puts a new log, which is complete at the path next and has the bytes
// of the plan's After, in the place of this one. It returns where the old log
// is then: at next, or at the path Kept where the system cannot exchange two
// files. With an exchange the path is never without a log, and whatever was
// there is still reachable: a log that a program put at the name in the last
// instant goes back, and a [*session.BusyError] is returned. The new log is at
// next again then.
func (h *Held) Exchange(ctx context.Context, next string) (old string, err error) {
	c := h.change
	err = c.exchange(next, c.Plan.Live)
	if errors.Is(err, durable.ErrUnsupported) {
		return c.Plan.Kept, h.changePlaces(next)
	}
	if err != nil {
		return "", GoneOr(c.Plan.Live, err) // it was removed in the last instant
	}
	if err := c.step("exchange"); err != nil {
		return "", err
	}
	came, err := c.Dir.look(next)
	if err != nil {
		return "", err
	}
	changed := c.busy(session.ReasonReplaced.Text())
	if came != nil {
		changed = h.changedAs(came)
	}
	if changed != nil {
		// Also when the run is about to end: it is the agent's log.
		return "", errors.Join(replacing{c, newLog{c.Dir, next, c.Plan.After}}.giveBack(context.WithoutCancel(ctx)), changed)
	}
	return next, nil
}

// changePlaces is for file systems that cannot exchange: the old log is moved
// aside first, so that the path is without a log for a moment. To rename the
// new log over the old one would do without that moment, but also take away
// what a program puts there by renaming.
func (h *Held) changePlaces(next string) error {
	if err := h.MoveAside(); err != nil {
		return err
	}
	return h.change.Place(next)
}

// Place gives a new log, which is complete at the path next, the log's name,
// which nothing has. A log that somebody began in that moment stays, and a
// [*session.BusyError] is returned.
func (c *Change) Place(next string) error {
	err := c.rename(next, c.Plan.Live)
	if errors.Is(err, durable.ErrExists) {
		return c.busy(session.ReasonBegunAside.Text())
	}
	if err != nil {
		return fmt.Errorf("put the new log in its place: %w", err)
	}
	return c.step("place")
}

// Unheld asks whether a program has an open log open as well. nil means that
// none has, and none can until release is called; [durable.ErrHeld] that one
// has; [durable.ErrUnsupported] that the system cannot tell.
func Unheld(system durable.System, log *os.File) (release func(), err error) {
	lease, err := system.WriteLease(log)
	if err != nil {
		return func() {}, err
	}
	return func() { _ = lease.Release() }, nil // closing does it too
}
