//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// writer is somebody else who changes the session while the program stands
// still before one of its calls.
type writer struct {
	name string
	// before, if not nil, is what he does before the run.
	before func(m *meeting) error
	// strike is what he does at the call.
	strike func(m *meeting) error
	// next, if not nil, is what he does at the call after it, or when the
	// run is over.
	next func(m *meeting) error
	// after, if not nil, is what he does when the run is over.
	after func(m *meeting) error
	at    func(b *Bench, c crashloop.Call) bool // nil: at calls on the session
	// intent says that he knows the name that the old log will get.
	intent bool
}

// meeting is one run with a writer in it.
type meeting struct {
	*Home
	file *os.File // that the writer holds open
	// early says that he wrote before the program switched, so that the
	// program could know.
	early bool
	met   bool        // he has begun to write
	start os.FileInfo // of the log before the run
	// appended says that he added lines to the log and changed nothing else;
	// fresh that he began another session afterwards.
	appended bool
	fresh    bool
	carried  bool     // what he added came late, and is in that session
	lines    []string // that he has written to the session: they must be somewhere
	other    []string // that he has written elsewhere: they must stay
	gone     bool     // he removed the log before it was archived
	blind    bool     // without leases nobody knows that he has the log open
	// obstructs says that he took away what the program works on, or put
	// something in its way: it may fail, in order, and lose nothing.
	obstructs bool
}

func (w writer) fault() Fault {
	at := w.at
	if at == nil {
		at = inSessions
	}
	return Fault{Name: w.name, reads: true, at: at, try: w.try, fits: func(b *Bench) string {
		switch c := b.home.Command; {
		case !c.Sessions:
			return "no session is touched"
		case w.intent && !c.Intends:
			return "nothing is moved aside"
		}
		return ""
	}}
}

func (w writer) try(b *Bench, c crashloop.Call) (problem, err error) {
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	m := &meeting{Home: h, blind: h.Command.Lacking.Leases && (w.before != nil || w.after != nil)}
	if w.before != nil {
		if err := w.before(m); err != nil {
			return nil, err
		}
	}
	got, err := w.meet(m, c.N)
	if err != nil {
		return nil, err
	}
	if err == nil && w.after != nil {
		err = w.after(m)
	}
	if err != nil {
		return nil, err
	}
	problem = m.check(got)
	if m.carried {
		b.Carried++
	}
	return problem, nil
}

// meet runs the program and lets the writer act at its Nth call.
func (w writer) meet(m *meeting, n int) (crashloop.Outcome, error) {
	start, err := os.Lstat(m.Log())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return crashloop.Outcome{}, err
	}
	m.start = start
	var acted chan error
	next := w.next
	got, err := m.trace(true, func(now crashloop.Call) crashloop.Fault {
		switch {
		case now.N == n:
			return crashloop.Fault{Hook: func() { acted = m.meanwhile(w.strike) }}
		case now.N == n+1 && next != nil && len(acted) > 0:
			act := chained(acted, next)
			next = nil
			return crashloop.Fault{Hook: func() { acted = m.meanwhile(act) }}
		}
		return crashloop.Fault{}
	})
	if err != nil || acted == nil {
		return got, err
	}
	err = <-acted
	if err == nil && next != nil {
		err = next(m)
	}
	return got, err
}

// chained is an act after one that is done. One that still waits for the lease
// cannot be waited for while the program stands still: it would take until the
// system breaks the lease. Then the second act comes after the run.
func chained(first chan error, act func(*meeting) error) func(*meeting) error {
	return func(m *meeting) error {
		if err := <-first; err != nil {
			return err
		}
		return act(m)
	}
}

// meanwhile lets the writer act as a program beside this one. While sessctl
// holds a lease on the log, opening it waits for the lease, so after a moment
// the run goes on and the writer comes later.
func (m *meeting) meanwhile(act func(*meeting) error) chan error {
	done, result := make(chan error, 1), make(chan error, 1)
	early := !m.met && !m.switched()
	m.met = true
	go func() { done <- act(m) }()
	select {
	case err := <-done:
		m.early = m.early || early
		result <- err
	case <-time.After(50 * time.Millisecond):
		go func() { result <- <-done }()
	}
	return result
}

// switched says whether the program has changed the session: the log is not
// the file that the agent has written, or the index names another one. The log
// is not opened: the program, which stands still, may hold a lease on it.
func (m *meeting) switched() bool {
	log, err := os.Lstat(m.Log())
	if err != nil || !os.SameFile(log, m.start) || log.Size() != m.start.Size() {
		return true
	}
	if m.index() == "" {
		return false
	}
	index, err := os.ReadFile(m.index())
	return err == nil && !strings.Contains(string(index), Session)
}

// check is what must hold after a run with a writer in it.
func (m *meeting) check(got crashloop.Outcome) error {
	if err := orderly(got); err != nil {
		return err
	}
	if got.Exit != 0 && got.Exit != 75 && !m.refused(got.Output) && !m.obstructs {
		return fmt.Errorf("exit %d: %s", got.Exit, got.Output)
	}
	if err := errors.Join(m.kept(), m.indexIsWhole()); err != nil {
		return fmt.Errorf("exit %d: %w", got.Exit, err)
	}
	if m.early && !m.blind && got.Exit == 0 {
		if err := m.goesOn(); err != nil {
			return err
		}
	}
	return m.settlesLate()
}

// kept checks that nothing is lost: neither the source nor what the writer
// wrote. What he removed before anybody could copy it is his to remove.
func (m *meeting) kept() error {
	if m.gone {
		return nil
	}
	return m.linesKept(append(append([]string{}, m.lines...), m.other...)...)
}

// goesOn checks that what was written before the switch is where people and
// agents look: in an archive or in the live log. An old log is not enough.
func (m *meeting) goesOn() error {
	have, err := m.linesIn(func(path string) bool { return path == m.Log() || m.inArchive(path) })
	if err != nil {
		return err
	}
	if err := missing(m.lines, have); err != nil {
		return fmt.Errorf("a session that went on was taken away: %w", err)
	}
	return nil
}

// settlesLate lets the writer finish and runs the command until there is
// nothing more to do. Old logs that were moved aside are in archives then,
// with everything that came late.
func (m *meeting) settlesLate() error {
	if m.file != nil {
		if err := m.again(0, 75); err != nil {
			return fmt.Errorf("the log still open: %w", err)
		}
		if err := errors.Join(m.kept(), quietly(m.file.Close)); err != nil {
			return err
		}
	}
	var err error
	if m.fresh, err = m.nextTurn(); err != nil {
		return err
	}
	for range 3 {
		if err := errors.Join(m.ageLogs(), m.dayLater()); err != nil {
			return err
		}
		if err := m.again(m.acceptable()...); err != nil {
			return err
		}
	}
	// Where the command refuses to go on, this is what settles.
	if err := m.must([]int{0, 1}, "doctor", "--fix"); err != nil {
		return err
	}
	if err := errors.Join(m.kept(), m.indexIsWhole(), m.nothingLeft(true), m.verifies()); err != nil {
		return fmt.Errorf("after the next runs: %w", err)
	}
	if m.fresh && m.appended && m.Command.Intends {
		if m.carried, err = m.carriedOnce(); err != nil {
			return err
		}
	}
	return m.oldLogsArchived()
}

// acceptable lists the exit codes of later runs. A line that an agent appends
// after the log was taken away makes a log without a header, which no runtime
// could go on with and sessctl leaves alone.
func (m *meeting) acceptable() []int {
	log, err := os.ReadFile(m.Log())
	switch {
	case m.obstructs:
		return []int{0, 1, 2}
	case err == nil && !strings.HasPrefix(string(log), m.Lines[0]):
		return []int{0, 1, 75}
	case m.fresh:
		return []int{0, 75} // a session that was just given a late line has just changed
	}
	return []int{0}
}

func (m *meeting) oldLogsArchived() error {
	archives, err := m.linesIn(m.inArchive)
	if err != nil {
		return err
	}
	old, err := m.linesIn(func(path string) bool {
		name := filepath.Base(path)
		return filepath.Dir(path) == m.Sessions() && strings.Contains(name, ".jsonl.")
	})
	if err != nil {
		return err
	}
	for line := range old {
		if line != "" && archives[line] == 0 && !slices.Contains(m.other, line) {
			return fmt.Errorf("the old log has a line that is in no archive: %s", line)
		}
	}
	return nil
}
