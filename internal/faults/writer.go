//go:build linux && amd64

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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
	// index says that he writes the runtime's index, and unlocked that he does
	// not take its lock.
	index, unlocked bool
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
	over     bool     // the run has ended
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
		case w.index && b.home.index() == "":
			return "the runtime has no index"
		case w.unlocked && c.Lacking.RenameFlags:
			return "without exchanges only the lock keeps its entries"
		}
		return ""
	}}
}

func (w writer) try(b *Bench, c crashloop.Call) (problem, err error) {
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	m := &meeting{Home: h, blind: h.Command.Lacking.Leases && (w.before != nil || w.after != nil) && !w.index}
	if w.before != nil {
		if err := w.before(m); err != nil {
			return nil, err
		}
	}
	got, err := w.meet(m, c.N)
	if err != nil {
		return nil, err
	}
	m.over = true
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
// holds a lease on the log, opening it waits for the lease, so as soon as he
// waits the run goes on and the writer comes later.
func (m *meeting) meanwhile(act func(*meeting) error) chan error {
	done, result := make(chan error, 1), make(chan error, 1)
	early := !m.met && !m.switched()
	m.met = true
	log, _ := os.Lstat(m.Log()) // nil: nobody has a lease on it
	go func() { done <- act(m) }()
	for {
		select {
		case err := <-done:
			m.early = m.early || early
			result <- err
			return result
		case <-time.After(time.Millisecond):
		}
		if leaseBreaks(log) {
			go func() { result <- <-done }()
			return result
		}
	}
}

// leaseBreaks says whether somebody who opens the file waits until its lease is
// given back. That is what the writer's own open does, and no clock tells it.
func leaseBreaks(file os.FileInfo) bool {
	if file == nil {
		return false
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false
	}
	inode := fmt.Sprintf(":%d", file.Sys().(*syscall.Stat_t).Ino)
	for line := range strings.Lines(string(locks)) { // "1: LEASE  BREAKING  READ 7923 00:1a:4711 0 EOF"
		if f := strings.Fields(line); len(f) > 5 && f[1] == "LEASE" && f[2] == "BREAKING" && strings.HasSuffix(f[5], inode) {
			return true
		}
	}
	return false
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

// writers lists how agents and people were seen to write (docs/dev/decisions.md
// D15; faults 8 to 11 of docs/dev/reliability.md).
func writers() []writer {
	return []writer{
		{name: "a line appended", strike: appends},
		{name: "log opened, written to after the run", strike: opens, after: writesLate},
		{name: "log opened at the switch, written to after the run", strike: opens, after: writesLate, at: atSwitch},
		{name: "log held open from before, written to", before: opens, strike: writesLate},
		{name: "rewritten in place, longer", strike: rewrites(true)},
		{name: "rewritten in place, the same", strike: rewrites(false)},
		{name: "truncated at one call, rewritten at the next", strike: truncates, next: fills},
		{name: "replaced by rename", strike: replaces},
		{name: "removed", strike: removes},
		{name: "a stranger at the old log's new name", strike: squats, at: afterIntent, intent: true},
		{name: "an entry added to the index under its lock", strike: beginsLocked, after: beginsLocked, index: true},
		{name: "an entry added to the index without its lock", strike: begins, index: true, unlocked: true},
		{name: "an entry added to the index at two calls", strike: begins, next: begins, index: true, unlocked: true},
	}
}

// begins adds the entry of another session to the index, as a runtime does that
// takes no lock.
func begins(m *meeting) error {
	text, err := os.ReadFile(m.index())
	if err != nil {
		return err
	}
	entry := fmt.Sprintf(`  "agent:a:telegram:group:%d": { "sessionId": "00000000-0000-4000-8000-0000000001%02d", "updatedAt": 2 }`, len(m.entries), len(m.entries))
	m.entries = append(m.entries, entry)
	text = bytes.Replace(text, []byte("{\n"), []byte("{\n"+entry+",\n"), 1)
	temp := m.index() + ".77.tmp"
	return errors.Join(os.WriteFile(temp, text, 0o600), os.Rename(temp, m.index()))
}

// beginsLocked does it as an older version does, under the index's lock. While
// the program holds that it waits, until the run is over.
func beginsLocked(m *meeting) error {
	lock := m.index() + ".lock"
	f, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) && !m.over {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the lock of the index was not given back: %w", err)
	}
	_, err = fmt.Fprintf(f, `{"pid":%d,"createdAt":%q}`, os.Getpid(), time.Now().UTC().Format(time.RFC3339Nano))
	return errors.Join(err, f.Close(), begins(m), os.Remove(lock))
}

// appends writes a line as pi does: open, one write, close.
func appends(m *meeting) error {
	late := m.layout().late()
	err := quietly(func() error {
		f, err := os.OpenFile(m.Log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(strings.Join(late, "\n") + "\n")
		return errors.Join(err, f.Close())
	})
	m.lines, m.appended = append(m.lines, late...), true
	return err
}

// opens takes a descriptor as Codex does and keeps it.
func opens(m *meeting) error {
	return quietly(func() (err error) {
		m.file, err = os.OpenFile(m.Log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		return err
	})
}

func writesLate(m *meeting) error {
	late := m.layout().late()
	m.lines, m.appended = append(m.lines, late...), true
	_, err := m.file.WriteString(strings.Join(late, "\n") + "\n")
	return err
}

// rewrites writes the whole log again with the same inode, as OpenClaw 2026.7
// does at the end of a turn.
func rewrites(longer bool) func(*meeting) error {
	return func(m *meeting) error {
		if longer {
			m.lines = append(m.lines, m.layout().late()...)
		}
		return quietly(func() error { return os.WriteFile(m.Log(), m.transcript(), 0o600) })
	}
}

// transcript is the log as the agent has it in its memory.
func (m *meeting) transcript() []byte {
	return []byte(strings.Join(append(append([]string{}, m.Lines...), m.lines...), "\n") + "\n")
}

// truncates is the first half of rewrites, and fills the second.
func truncates(m *meeting) error {
	return quietly(func() (err error) {
		m.file, err = os.OpenFile(m.Log(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		return err
	})
}

func fills(m *meeting) error {
	m.lines = append(m.lines, m.layout().late()...)
	_, err := m.file.Write(m.transcript())
	err = errors.Join(err, quietly(m.file.Close))
	m.file = nil
	return err
}

// replaces writes a new file and renames it over the log.
func replaces(m *meeting) error {
	m.lines = append(m.lines, m.layout().late()...)
	temp := filepath.Join(m.Sessions(), "agent.part")
	return quietly(func() error {
		return errors.Join(os.WriteFile(temp, m.transcript(), 0o600), os.Rename(temp, m.Log()))
	})
}

// removes deletes the log.
func removes(m *meeting) error {
	m.obstructs = true
	archives, err := m.linesIn(m.inArchive)
	m.gone = missing(m.Lines, archives) != nil && !m.switched()
	if removed := os.Remove(m.Log()); !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// strangersLine is in no archive: the file is not of this session.
const strangersLine = `{"type":"session","version":3,"id":"5f0c1c2e-0000-4000-8000-000000000000","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/repo/a"}`

// squats puts a file at the name that the intent has for the old log: a reset
// by the runtime itself in the same millisecond.
//
// A log is read ahead of what is stored: in this run the call may have come before
// the intent. Nobody can know the name then, and nothing happens.
func squats(m *meeting) error {
	intents, err := filepath.Glob(filepath.Join(m.Data(), "journal", "*.json"))
	if err != nil || len(intents) != 1 {
		return err
	}
	m.obstructs = true
	kept, err := keptPath(intents[0])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(kept, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil // the log has its new name already
	}
	if err != nil {
		return err
	}
	m.other = append(m.other, strangersLine)
	_, err = f.WriteString(strangersLine + "\n")
	return errors.Join(err, f.Close())
}

// quietly opens and closes files at moments at which no other program is being
// started by this one: a child that has not come to its exec yet holds a copy
// of every descriptor, and a lease would see it.
func quietly(fn func() error) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return fn()
}

// afterIntent: the new name is known once the intent is in the journal.
func afterIntent(b *Bench, c crashloop.Call) bool {
	calls, err := b.calls(nil, true)
	return err == nil && inSessions(b, c) && slices.ContainsFunc(calls[:c.N-1], func(earlier crashloop.Call) bool {
		return strings.HasPrefix(earlier.Name, "rename") && strings.Contains(earlier.Path, "/journal/")
	})
}

// atSwitch: a log is taken away by a rename. Who opens it there waits for the
// lease, and has the old log then.
func atSwitch(b *Bench, c crashloop.Call) bool {
	return strings.HasPrefix(c.Name, "rename") && inSessions(b, c)
}

// keptPath is the name that an intent has for the old log.
func keptPath(intent string) (string, error) {
	text, err := os.ReadFile(intent)
	if err != nil {
		return "", err
	}
	var doc struct{ Rotation struct{ Kept string } }
	if err := json.Unmarshal(text, &doc); err != nil || doc.Rotation.Kept == "" {
		return "", fmt.Errorf("%s names no old log: %w", intent, err)
	}
	return doc.Rotation.Kept, nil
}

// second runs the same command a second time, from beginning to end, while the
// first stands still before a call. One of the two does the work; the other
// finds it done or is told to come back.
func second(b *Bench, c crashloop.Call) (problem, err error) {
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	var code int
	var out string
	var ran error
	got, err := h.trace(true, once(c.N, crashloop.Fault{Hook: func() { code, out, ran = h.Run(h.args()...) }}))
	if err = errors.Join(err, ran); err != nil {
		return nil, err
	}
	if problem := orderly(got); problem != nil {
		return problem, nil
	}
	// Where the second did all of it before the first took the lock, nothing is
	// left that the first may do.
	late := code == 0 && h.refused(got.Output)
	early := got.Exit == 0 && h.refused(out) // and where the first had done it by then, for the second
	if code != 0 && code != 75 && !early && !waitedInVain(code, out) || got.Exit != 0 && got.Exit != 75 && !late {
		return fmt.Errorf("the second run: exit %d: %s; the first: exit %d: %s", code, strings.TrimSpace(out), got.Exit, got.Output), nil
	}
	return h.survived(), nil
}

// waitedInVain reports whether a run has done its work but for what another process kept
// from it, and said so: one that stands still holds the ledger's lock, or reads the
// memory, for longer than anybody waits.
func waitedInVain(code int, out string) bool {
	return code == 3 && (strings.Contains(out, "is not entered in the ledger: write the ledger: lock ") && strings.Contains(out, "locked by another sessctl") ||
		strings.Contains(out, "traces of it are still in the files: memory is in use by another process"))
}
