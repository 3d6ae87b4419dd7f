package pi

import "time"

// SetStep has step called after each step of Rotate.
func (s *Store) SetStep(step func(name string) error) { s.Step = step }

// Running is a pi that a test lets run.
type Running struct {
	Dir      string // where it works
	Started  time.Time
	Sessions string // directory of its sessions
	Flat     bool   // its logs lie in there, and not below
}

// LetRun lets these run, and no other process be looked for.
func (s *Store) LetRun(all ...Running) {
	l := &lookout{at: time.Now().Add(time.Hour)}
	for i, r := range all {
		l.found = append(l.found, running{id: i + 1, dir: r.Dir, started: r.Started, sessions: r.Sessions, flat: r.Flat})
	}
	s.lookout = l
}

// DirectoryOf is the directory for the sessions of a working directory.
func DirectoryOf(dir string) string { return directoryOf(dir) }
