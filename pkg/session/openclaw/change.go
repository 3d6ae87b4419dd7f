package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// change is one rotation on its way.
type change struct {
	*directory
	store    *Store
	rotation session.Rotation
	name     string // of the log
	kept     string // of the closed log

	index    *index
	switched bool // the index names the new session
	logThere bool // the log is at its place
	moved    bool // the log is at its new name
	linked   bool // at both: an earlier run died inside the move
	log      *os.File
	checked  os.FileInfo    // of the log, when it was held against the snapshot
	lease    *durable.Lease // nil where there are none
}

// openChange checks that a rotation, which may come from a journal, stays in
// one sessions directory of this store.
func (s *Store) openChange(r session.Rotation) (*change, error) {
	d, name, err := s.directoryOf(r.Live)
	if err != nil {
		return nil, err
	}
	c := &change{directory: d, store: s, rotation: r, name: name, kept: filepath.Base(r.Kept)}
	if err := errors.Join(c.belongs(), d.inPlace()); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return c, nil
}

// belongs checks that the parts of the plan fit together.
func (c *change) belongs() error {
	r := c.rotation
	log, v := parseName(c.name)
	closed, w := parseName(c.kept)
	switch {
	case v != isLog || !log.open() || w != isLog || closed.kind != session.KindReset || closed.live != c.name,
		r.Kept != c.at(c.kept), r.Index != c.at(indexName):
		return fmt.Errorf("rotate %s: the plan names files that do not belong together", r.Live)
	case len(r.Before) != len(r.Keys), len(r.Keys) > 0 && !session.SafeID(r.NewSession):
		return fmt.Errorf("rotate %s: the plan is not whole", r.Live)
	}
	return nil
}

func (c *change) close() {
	c.unpin()
	_ = c.directory.close() // it was only looked at
}

// unpin ends the lease and closes the log.
func (c *change) unpin() {
	if c.lease != nil {
		c.lease.Release()
	}
	if c.log != nil {
		c.log.Close()
	}
	c.lease, c.log = nil, nil
}

// read finds out which steps are done. The log's place is looked at first: a
// closed log beside an index that is not the runtime's any more (it has moved
// on to a database) is a rotation that is done.
func (c *change) read(ctx context.Context) error {
	if err := c.logState(); err != nil {
		return err
	}
	v, err := c.store.lookAgain(ctx, c.directory)
	if err != nil {
		return err
	}
	if v.frozen != "" {
		c.switched = c.moved
		if c.moved {
			return nil
		}
		return c.refuse(v.frozen)
	}
	c.index = v.index
	c.switched, err = c.indexState(v)
	return err
}

// refuse is a [*session.BusyError]: nothing has been changed.
func (c *change) refuse(reason string) error {
	return &session.BusyError{Path: c.rotation.Live, Reason: reason}
}

// indexState reports whether the index names the new session. It is busy when
// it says neither what it said when the rotation was planned nor that.
func (c *change) indexState(v *view) (switched bool, err error) {
	fresh, old := 0, 0
	for i, key := range c.rotation.Keys {
		switch e := v.index.entry(key); {
		case e == nil:
		case e.session == c.rotation.NewSession:
			fresh++
		case e.before() == c.rotation.Before[i].Known():
			old++
		}
	}
	keys := len(c.rotation.Keys)
	switch {
	case keys > 0 && fresh == keys:
		return true, nil
	case old == keys && c.onlyOwners(v):
		return false, nil
	}
	return false, c.refuse("its entry in sessions.json has changed since the rotation was planned")
}

// onlyOwners reports whether no entry but those of the plan means the log.
func (c *change) onlyOwners(v *view) bool {
	return !slices.ContainsFunc(v.owners[c.name], func(e *entry) bool { return !slices.Contains(c.rotation.Keys, e.key) })
}

// logState finds the log. Inode numbers tell which file is at the new name,
// but after a restart some file systems have others, so a file that is only
// there counts too.
func (c *change) logState() error {
	live, err := c.statIfThere(c.name)
	if err != nil {
		return err
	}
	kept, err := c.statIfThere(c.kept)
	if err != nil {
		return err
	}
	c.logThere = live != nil
	if kept == nil {
		return nil
	}
	c.linked = live != nil && os.SameFile(live, kept)
	c.moved = live == nil || c.rotation.Snapshot.SameFile(session.Observe(c.rotation.Kept, kept))
	if !c.moved && !c.linked {
		return c.refuse("another file is at " + c.rotation.Kept)
	}
	// A log that is at its place although it was moved is a new one: a late
	// writer has made it again. It is listed as a session of its own.
	c.logThere = false
	return nil
}

func (c *change) statIfThere(name string) (os.FileInfo, error) {
	info, err := c.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", c.at(name), err)
	}
	return info, nil
}
