package openclaw

import (
	"context"
	"time"

	"github.com/sessctl/sessctl/pkg/session/process"
)

// SetStep has step called after each step of Rotate.
func (s *Store) SetStep(step func(name string) error) { s.step = step }

// SetPause has pause called instead of waiting.
func (s *Store) SetPause(pause func()) {
	s.pause = func(ctx context.Context, _ time.Duration) error {
		pause()
		return ctx.Err()
	}
}

// InPlace checks an agent's directory after a change that was made while it is
// open.
func (s *Store) InPlace(agent string, change func()) error {
	d, err := s.openDirectory(agent)
	if err != nil {
		return err
	}
	defer d.Close()
	change()
	return d.InPlace()
}

// Edit is what Rotate makes of the text of an index.
func Edit(text []byte, keys []string, session string, at time.Time) ([]byte, error) {
	x, err := parseIndex(text)
	if err != nil {
		return nil, err
	}
	fresh := freshEntry{session: session, at: at}
	return x.edited(keys, func(_ string, old []byte) ([]byte, error) { return fresh.replace(old) })
}

// Kept reports whether a rotation keeps a field of an entry.
func Kept(field string) bool { return kept(field) }

// Kind is the kind of file that a name stands for: "" for none, "odd" for one
// that only looks like a session.
func Kind(name string) (kind, live, id string) {
	switch n, v := parseName(name); v {
	case isLog:
		return string(n.kind), n.live, n.id
	case isOdd:
		return "odd", "", ""
	}
	return "", "", ""
}

// StartTime is when a process was started, as locks record it.
func StartTime(pid int) (uint64, bool) {
	s := process.Look(pid)
	return s.Start, s.Known && s.Alive
}

// Entries are the session and the time of update of each entry of an index.
func Entries(text []byte) (map[string][2]string, error) {
	x, err := parseIndex(text)
	if err != nil {
		return nil, err
	}
	all := map[string][2]string{}
	for _, e := range x.entries {
		all[e.key] = [2]string{e.session, e.updatedAt}
	}
	return all, nil
}

// SetDeadline sets how long one call of the runtime's program may take.
func (s *Store) SetDeadline(d time.Duration) { s.options.Deadline = d }

// Merge puts two changes of an index together.
func Merge(base, theirs, ours []byte) ([]byte, error) { return mergeIndexes(base, theirs, ours) }
