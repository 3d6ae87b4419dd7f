package livelog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Change is one change of a log on its way.
type Change struct {
	Root *os.Root // the open directory of the log
	Plan session.Shortening
	// Step is called after each step with its name; tests stop here. It may
	// be nil.
	Step func(name string) error
	// System says what of the system is not used; the zero value uses all.
	System durable.System
}

func (c *Change) step(name string) error {
	if c.Step == nil {
		return nil
	}
	return c.Step(name)
}

func (c *Change) name() string { return filepath.Base(c.Plan.Live) }

func (c *Change) busy(reason string) error {
	return &session.BusyError{Path: c.Plan.Live, Reason: reason}
}

// Begun marks an error that is a [*session.BusyError] as one of a change that is
// done or half done: the old log is not at its place any more.
func (c *Change) Begun(err error) error {
	var busy *session.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	for _, name := range []string{filepath.Base(c.Plan.Kept), c.nextName()} {
		if info, statErr := c.stat(name); statErr == nil && info != nil && c.isOld(info) {
			busy.Begun = true
		}
	}
	return err
}

// stat looks at a file of the directory; nil if it is not there.
func (c *Change) stat(name string) (os.FileInfo, error) {
	info, err := c.Root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", filepath.Join(filepath.Dir(c.Plan.Live), name), err)
	}
	return info, nil
}

// pinned is a log that nobody else has open, as far as the system can tell.
type pinned struct {
	file  *os.File
	lease *durable.Lease // nil where there are none
}

func (p *pinned) release() {
	if p.lease != nil {
		_ = p.lease.Release() // closing does it too
	}
	_ = p.file.Close() // what was written is synced
}

// contested reports whether somebody waits for the lease.
func (p *pinned) contested() bool { return p.lease != nil && !p.lease.Held() }

const heldElsewhere = "another process has it open"

// pin opens the log and takes the lease. What the log is has not been checked
// then.
func (c *Change) pin(open func(*os.Root, string) (*os.File, error)) (*pinned, error) {
	file, err := open(c.Root, c.name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, c.busy("it has been moved or removed since it was found")
	case errors.Is(err, durable.ErrHeld):
		return nil, c.busy(heldElsewhere)
	case errors.Is(err, durable.ErrNotRegular):
		return nil, c.busy("it is not a regular file any more")
	case err != nil:
		return nil, fmt.Errorf("open log: %w", err)
	}
	lease, err := c.System.WriteLease(file)
	switch {
	case errors.Is(err, durable.ErrHeld):
		return nil, errors.Join(c.busy(heldElsewhere), file.Close())
	case err != nil && !errors.Is(err, durable.ErrUnsupported):
		return nil, errors.Join(fmt.Errorf("ask who has the log open: %w", err), file.Close())
	}
	p := &pinned{file: file, lease: lease}
	if err := c.step("lease"); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// check compares the log, by its descriptor and by its name, with the
// snapshot.
func (c *Change) check(p *pinned) error {
	opened, err := p.file.Stat()
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	named, err := c.stat(c.name())
	switch {
	case err != nil:
		return err
	case named == nil:
		return c.busy("it has been moved or removed since it was found")
	case !os.SameFile(opened, named):
		return c.busy("another file has taken its place")
	case durable.Identify(named).Links > 1:
		return c.busy("it has got another name (a hard link): changing it would change something else")
	}
	if err := c.Plan.Snapshot.Matches(named); err != nil {
		return err
	}
	if p.contested() {
		return c.busy(heldElsewhere)
	}
	return c.step("check")
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
