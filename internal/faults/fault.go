//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sessctl/sessctl/internal/crashloop"
	"golang.org/x/sys/unix"
)

// Fault is one column of the table: something that goes wrong.
type Fault struct {
	Name string
	// kind is what it has in common with others that ask the same of the program in
	// nearly the same way, "" for nothing: see [Choice.Columns].
	kind string
	// reads says that the fault can happen before reading calls too.
	reads bool
	// env is what the program is told for this fault.
	env []string
	// exit says that it can happen right after the program's exit, too.
	exit bool
	// at says at which calls it can happen; nil is all.
	at func(b *Bench, c crashloop.Call) bool
	// fits says why it cannot happen to a command, or nothing; nil is always.
	fits func(b *Bench) string
	// try lets it happen at a call of a fresh home. problem is what is wrong
	// afterwards; err is about the harness.
	try func(b *Bench, c crashloop.Call) (problem, err error)
}

// Faults lists everything that is tried.
func Faults() []Fault {
	all := []Fault{
		{Name: "SIGKILL", try: killed(crashloop.Fault{Kill: true})},
		{Name: "torn write, SIGKILL", at: isWrite, try: killed(crashloop.Fault{Torn: true})},
		{Name: "short write", at: isWrite, try: shortened},
		{Name: "write lost by the disk", at: isArchiveWrite, try: lied},
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		all = append(all, Fault{Name: unix.SignalName(s), kind: "signal", try: signalled(s)})
	}
	for _, e := range []struct {
		name  string
		errno syscall.Errno
	}{{"ENOSPC", syscall.ENOSPC}, {"EIO", syscall.EIO}, {"EDQUOT", syscall.EDQUOT}} {
		all = append(all, Fault{Name: e.name + " once", kind: "error", at: isOfFile, try: failing(e.errno, false)}, Fault{Name: e.name + " from then on", kind: "error", at: isOfFile, try: failing(e.errno, true)})
	}
	for _, w := range writers() {
		all = append(all, w.fault())
	}
	all = append(all, Fault{Name: "second sessctl", reads: true, try: second})
	all = append(all, swapped()...)
	return append(all, powerCuts()...)
}

func (f Fault) unfit(b *Bench) string {
	if below := b.home.Command.Below; below != "" && f.reads {
		return "faults happen to changes below " + below + " alone"
	}
	if f.fits == nil {
		return ""
	}
	return f.fits(b)
}

// places lists the calls of an undisturbed run at which the fault can happen.
func (f Fault) places(b *Bench) ([]crashloop.Call, error) {
	calls, err := b.calls(f.env, f.reads)
	if err != nil {
		return nil, err
	}
	var some []crashloop.Call
	for _, c := range calls {
		if (f.at == nil || f.at(b, c)) && b.home.concerns(c) {
			some = append(some, c)
		}
	}
	return some, nil
}

// concerns says whether the row is about a call.
func (h *Home) concerns(c crashloop.Call) bool {
	return h.Command.Below == "" || strings.HasPrefix(c.Path, filepath.Join(h.Data(), h.Command.Below)+"/")
}

func isWrite(_ *Bench, c crashloop.Call) bool { return c.Name == "write" || c.Name == "pwrite64" }

// isOfFile: no disk is behind a socket.
func isOfFile(_ *Bench, c crashloop.Call) bool { return c.Path != crashloop.Socket }

func isArchiveWrite(b *Bench, c crashloop.Call) bool {
	return isWrite(b, c) && b.home.inArchive(c.Path)
}

// inSessions: a program that only touches the session meets another one only
// between two calls there. Between two others nothing can tell the difference.
func inSessions(b *Bench, c crashloop.Call) bool {
	dir := b.home.Sessions()
	return c.Path == dir || strings.HasPrefix(c.Path, dir+"/")
}

// once lets a fault happen at the Nth call and nothing else.
func once(n int, f crashloop.Fault) func(crashloop.Call) crashloop.Fault {
	return func(c crashloop.Call) crashloop.Fault {
		if c.N == n {
			return f
		}
		return crashloop.Fault{}
	}
}

// killed ends the program at a call. Whatever was done by then, no line is
// lost, and the next run completes it.
func killed(fault crashloop.Fault) func(*Bench, crashloop.Call) (problem, err error) {
	return func(b *Bench, c crashloop.Call) (problem, err error) {
		h, err := b.fresh()
		if err != nil {
			return nil, err
		}
		got, err := h.trace(false, once(c.N, fault))
		if err != nil {
			return nil, err
		}
		return errors.Join(h.keepsWord(got), h.survived()), nil
	}
}

// signalled asks the program to end: it does so by itself, with the exit code
// that says why, or finishes. Only SIGHUP, which it leaves alone, kills it.
func signalled(signal syscall.Signal) func(*Bench, crashloop.Call) (problem, err error) {
	return func(b *Bench, c crashloop.Call) (problem, err error) {
		h, err := b.fresh()
		if err != nil {
			return nil, err
		}
		got, err := h.trace(false, once(c.N, crashloop.Fault{Signal: signal}))
		if err != nil {
			return nil, err
		}
		if signal != syscall.SIGHUP {
			problem = orderly(got)
			if got.Exit != 0 && got.Exit != 128+int(signal) {
				problem = errors.Join(problem, fmt.Errorf("exit %d: %s", got.Exit, got.Output))
			}
		}
		return errors.Join(problem, h.survived()), nil
	}
}

// survived checks what is there after a crash and what the next runs make of it.
func (h *Home) survived() error {
	if err := errors.Join(h.linesKept(), h.liveIsWhole(), h.trashIsRecorded()); err != nil {
		return err
	}
	if h.Command.Whole != nil {
		if err := h.Command.Whole(h); err != nil {
			return err
		}
	}
	return h.settles()
}

// failing lets one call fail, or that and every later one.
func failing(errno syscall.Errno, onwards bool) func(*Bench, crashloop.Call) (problem, err error) {
	return func(b *Bench, c crashloop.Call) (problem, err error) {
		h, err := b.fresh()
		if err != nil {
			return nil, err
		}
		met := c // the call of that number may be another one in this run
		got, err := h.trace(false, func(now crashloop.Call) crashloop.Fault {
			if now.N == c.N {
				met = now
			}
			if now.N == c.N || onwards && now.N > c.N {
				return crashloop.Fault{Errno: errno}
			}
			return crashloop.Fault{}
		})
		if err != nil {
			return nil, err
		}
		if len(got.Calls) < c.N { // it ended before
			return errors.Join(orderly(got), h.survived()), nil
		}
		return errors.Join(orderly(got), swallowed(b, met, got), h.keepsWord(got), h.survived()), nil
	}
}

// shortened cuts a write to half. The kernel may do that at any time; the
// program has to write the rest or to give up with an error.
func shortened(b *Bench, c crashloop.Call) (problem, err error) {
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	got, err := h.trace(false, once(c.N, crashloop.Fault{Short: true}))
	if err != nil {
		return nil, err
	}
	problem = orderly(got)
	if got.Exit == 0 && h.Command.Answered == nil {
		problem = errors.Join(problem, h.Command.Done(h))
	}
	problem = errors.Join(problem, h.keepsWord(got))
	return errors.Join(problem, h.survived()), nil
}

// lied loses half of what is written to an archive and says that all was
// written. Only reading the archive back can tell.
func lied(b *Bench, c crashloop.Call) (problem, err error) {
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	got, err := h.trace(false, once(c.N, crashloop.Fault{Lost: true}))
	if err != nil {
		return nil, err
	}
	if problem = orderly(got); got.Exit == 0 {
		// Bytes that were in the archive before need no second copy.
		if err := h.must([]int{0}, "archives", "verify"); err != nil {
			problem = fmt.Errorf("exit 0 although the archive is not what was written: %s", got.Output)
		}
	}
	return errors.Join(problem, h.survived()), nil
}

// orderly: a program that was not killed ends by itself, without a stack trace.
func orderly(got crashloop.Outcome) error {
	if got.Hung || got.Killed || strings.Contains(got.Output, "goroutine ") {
		return fmt.Errorf("it hung (%v), was killed (%v) or crashed: %s", got.Hung, got.Killed, got.Output)
	}
	return nil
}

// swallowed: a run whose call failed ends with an error, unless that call is
// excused. Logs are read ahead of what is stored, so the numbers of two runs differ
// by a few: the call is looked for among those of the undisturbed run.
func swallowed(b *Bench, c crashloop.Call, got crashloop.Outcome) error {
	calls, err := b.calls(nil, false)
	if err != nil || got.Exit != 0 || excused(calls, nearest(calls, c)) != "" || b.home.Command.Answered != nil || toldOfDate(got) || toldOfHead(b, c, got) || toldOfReserve(got) || writtenAgain(b, c, got) {
		return err
	}
	return fmt.Errorf("exit 0 although a call failed: %s", got.Output)
}

// nearest is the call of a run that is the same as one of another run, with the
// number that is nearest to its own.
func nearest(calls []crashloop.Call, c crashloop.Call) crashloop.Call {
	found := crashloop.Call{N: min(c.N, len(calls)), Name: c.Name, Path: c.Path}
	apart := len(calls) + c.N
	for _, other := range calls {
		if d := max(other.N-c.N, c.N-other.N); other.Name == c.Name && other.Path == c.Path && d < apart {
			found, apart = other, d
		}
	}
	return found
}

// toldOfDate says that the archives were verified, but not when: the run says so,
// and what asks for the date takes them for not verified.
func toldOfDate(got crashloop.Outcome) bool {
	return strings.Contains(got.Output, "the result of this check could not be recorded")
}

// toldOfHead says that the home, or what it lies in, could not be synced for the
// copy of the ledger's head below it, or that a place of heads could not be written,
// and that the run says so: see [excused].
func toldOfHead(b *Bench, c crashloop.Call, got crashloop.Outcome) bool {
	above := c.Name == "fsync" && strings.HasPrefix(b.home.Sessions(), c.Path+"/")
	place := strings.HasPrefix(c.Path+"/", filepath.Join(b.home.Dir, headsDisk)+"/")
	return (above || place) && strings.Contains(got.Output, "was not given the head of the ledger")
}

// toldOfReserve says that the file could not be made that keeps room for what a run
// writes on a full disk, and that the run says so: the next one makes it.
func toldOfReserve(got crashloop.Outcome) bool {
	return strings.Contains(got.Output, "no room is kept for the record of a run")
}

// writtenAgain says that a record found no room, and was written again with the room of
// the reserve: the call was made again in its directory after the reserve had gone. The
// reserve itself is tried again with half the size.
func writtenAgain(b *Bench, c crashloop.Call, got crashloop.Outcome) bool {
	ofReserve := func(c crashloop.Call) bool {
		return strings.HasPrefix(strings.TrimPrefix(filepath.Base(c.Path), "."), "reserve")
	}
	freed := ofReserve(c) || c.N > 1 && c.Path == b.home.Data() && ofReserve(got.Calls[c.N-2])
	for _, later := range got.Calls[c.N:] {
		freed = freed || strings.HasPrefix(later.Name, "unlink") && later.Path == filepath.Join(b.home.Data(), "reserve")
		if freed && later.Name == c.Name && filepath.Dir(later.Path) == filepath.Dir(c.Path) {
			return true
		}
	}
	return false
}

// keepsWord: what a server has answered is so, whatever has failed meanwhile.
func (h *Home) keepsWord(got crashloop.Outcome) error {
	if h.Command.Answered == nil || !h.Command.Answered(got.Output) {
		return nil
	}
	return h.Command.Done(h)
}

// excused says why a run may end well although a call failed, or nothing.
// calls are those of the undisturbed run.
func excused(calls []crashloop.Call, c crashloop.Call) string {
	sqlite := strings.Contains(c.Path, "/memory/memory.db")
	switch {
	case strings.HasPrefix(c.Name, "unlink") && strings.HasSuffix(c.Path, ".tmp"):
		return "a temporary file that stays is swept by the next run"
	case emptiesDirectory(calls, c):
		return "an empty directory that stays in a runtime's settings, or among ours, harms nobody"
	case strings.HasSuffix(c.Path, "/.config/systemd"), strings.HasSuffix(c.Path, "/.config") && !strings.HasPrefix(c.Name, "mkdir"), strings.HasSuffix(c.Path, "/systemd/user") && strings.HasPrefix(c.Name, "unlink"):
		return "a directory that is empty is removed as a courtesy"
	case strings.HasPrefix(c.Name, "fchown"):
		return "a file's owner is kept as a courtesy, where the user may"
	case strings.HasSuffix(c.Path, "/data/sessctl/lock"), strings.HasSuffix(c.Path, "/data/sessctl/lock-monitor"), strings.HasSuffix(c.Path, "/outbox/lock"), strings.HasSuffix(c.Path, "/lock") && strings.Contains(c.Path, "/data/sessctl/ledger"): // one that is begun, or set aside, too
		return "the lock is held without the note of who holds it"
	case strings.Contains(c.Path, "/.local/state/sessctl"), strings.HasSuffix(c.Path, "/home/.local/state"), strings.HasSuffix(c.Path, "/home/.local"):
		return "the ledger has its head signed: a place for copies of it that cannot be written is told, and no failed run"
	case strings.Contains(c.Path, "/managers/"), strings.Contains(c.Path, "/timers.target.wants"), strings.Contains(c.Path, "/.local/share/systemd"):
		return "it is of another program, which is asked afterwards whether it does as it was told"
	case strings.HasSuffix(c.Path, ".db-shm"):
		return "SQLite builds its shared memory anew from the log"
	case c.Name == "fsync" && strings.HasSuffix(c.Path, "/memory"):
		return "SQLite does not insist on the directory entry of its journal; memory can be rebuilt"
	case c.Name == "fsync" && strings.HasSuffix(c.Path, "/home/.hermes"):
		return "SQLite does not insist on the directory entry of its log, which is taken into the database before the run ends"
	case strings.HasPrefix(c.Name, "open") && strings.HasSuffix(c.Path, "/memory/memory.db"):
		return "SQLite opens the database for reading then, and no later write of it can end well"
	case sqlite && atTheEnd(calls, c):
		return "a checkpoint of SQLite that fails leaves its log, which holds everything, in place"
	}
	return ""
}

// emptiesDirectory says whether a call removes a directory that hook install has
// made, or syncs the one above it after that.
func emptiesDirectory(calls []crashloop.Call, c crashloop.Call) bool {
	removes := func(c crashloop.Call) bool {
		return c.Name == "unlinkat" && (strings.HasSuffix(c.Path, "/.claude/commands") || strings.HasSuffix(c.Path, "/data/sessctl/hooks"))
	}
	return removes(c) || c.Name == "fsync" && c.N > 1 && c.N <= len(calls) && removes(calls[c.N-2])
}

// atTheEnd says whether a call belongs to the closing of the memory: nothing
// but that comes after it, or until its log is removed and a later step of a run
// begins, and what was committed is copied, not written.
func atTheEnd(calls []crashloop.Call, c crashloop.Call) bool {
	closed := false
	for _, later := range calls[c.N-1:] {
		if !strings.Contains(later.Path, "/memory/memory.db") && !strings.HasSuffix(later.Path, "/data/sessctl/lock") {
			return closed
		}
		closed = closed || strings.HasPrefix(later.Name, "unlink") && strings.HasSuffix(later.Path, "-wal")
		if strings.HasPrefix(later.Name, "pwrite") && strings.HasSuffix(later.Path, "-wal") {
			return false // a commit is still to come
		}
	}
	return true
}
