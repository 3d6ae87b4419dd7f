package memory

import (
	"fmt"

	"github.com/sessctl/sessctl/pkg/durable"
)

// hold begins to hold the directories of the memory open: its own, and those
// beside it. Each may be a link to another disk when it is opened first.
func (s *connection) hold(pins *durable.Pins) {
	if pins == nil {
		pins = &durable.Pins{}
	}
	s.pins = pins
	pins.Hold()
	for _, dir := range []string{s.dir, ForgottenDir(s.dir), KeptDir(s.dir), StoredDir(s.dir)} {
		pins.Top(dir)
	}
}

func (s *connection) letGo() {
	if s.held != nil {
		s.held.Close()
	}
	s.pins.Release()
}

// inPlace checks, where SQLite finds its files by the path of the directory, that
// this still leads to the directory that is held open, and makes heldVFS known
// where it need not. [durable.ErrElsewhere] is returned if not.
func (s *connection) inPlace() error {
	if !s.held.Held() {
		return s.pins.InPlace(s.dir)
	}
	if err := registerHeld(); err != nil {
		return fmt.Errorf("open %s: %w", s.path(), err)
	}
	return nil
}
