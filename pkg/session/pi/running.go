package pi

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
	"github.com/sessctl/sessctl/pkg/session/process"
)

// running is a pi that runs, as far as the system tells. It has its session in
// its memory for as long as it runs and opens the log for each record only, so
// that neither a lock nor an open file shows it.
type running struct {
	id       int
	dir      string // where it works
	started  time.Time
	sessions string // directory of its sessions
	flat     bool   // its logs lie in sessions itself, and not below it
	hidden   bool   // it is this user's, and the system does not say where it works
}

// lookout finds the pi processes of this machine. It looks once for all
// sessions that are asked about at the same time.
type lookout struct {
	find func(func(process.Process) bool) []process.Process

	mutex sync.Mutex
	at    time.Time
	found []running
}

// fresh is how old a look may be.
const fresh = time.Second

func (l *lookout) look() []running {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if now := time.Now(); now.Sub(l.at) > fresh {
		l.found = nil
		for _, p := range l.find(isPi) {
			if r, ok := runningAs(p); ok {
				l.found = append(l.found, r)
			}
		}
		l.at = time.Now()
	}
	return l.found
}

// isPi recognises pi: by the name that it gives its process, and before it does
// so, or where it is not shown, by the program that Node runs.
func isPi(p process.Process) bool {
	if p.Name == "pi" || filepath.Base(p.Args[0]) == "pi" {
		return true
	}
	if len(p.Args) < 2 {
		return false
	}
	program := filepath.ToSlash(p.Args[1])
	return filepath.Base(program) == "pi" || strings.Contains(program, "/pi-coding-agent/")
}

// runningAs asks where a process works. One that the system says nothing about
// is another user's, or has ended; one of this user that is hidden may work
// anywhere.
func runningAs(p process.Process) (r running, ok bool) {
	r.id = p.ID
	dir, ok := p.Dir()
	if !ok {
		r.hidden = process.Hidden(p.ID)
		return r, r.hidden
	}
	r.dir = dir
	if r.started, ok = p.Started(); !ok {
		r.hidden = process.Look(p.ID).Alive // /proc has only processes here (ProcSubset=pid)
		return r, r.hidden
	}
	home, _ := p.Getenv("HOME")
	expand := func(name string) string {
		value, _ := p.Getenv(name)
		return logfile.Expand(value, home)
	}
	if r.sessions = expand("PI_CODING_AGENT_SESSION_DIR"); r.sessions != "" {
		r.flat = true
		return r, true
	}
	agent := expand("PI_CODING_AGENT_DIR")
	if agent == "" {
		agent = filepath.Join(home, ".pi", "agent")
	}
	r.sessions = filepath.Join(agent, sessionsName)
	return r, true
}

// directoryOf is the name that pi gives the directory for the sessions of a
// working directory.
func directoryOf(dir string) string {
	return "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimLeft(dir, `/\`)) + "--"
}

// worksOn reports whether a log is one of those that a pi chooses from: by where
// it keeps its sessions, and by the directory that it works in. Where logs lie
// in the sessions directory itself, pi was given that by an argument, which
// nobody can see.
func (r running) worksOn(base, path string, cwd func() string) bool {
	if filepath.Dir(path) == base {
		return r.dir == cwd()
	}
	return !r.flat && sameDir(r.sessions, base) && (filepath.Base(filepath.Dir(path)) == directoryOf(r.dir) || r.dir == cwd())
}

func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// slack is by how much the clocks of the system and of a file may differ.
const slack = 5 * time.Second

// mayHold says which pi may have a log in its memory: one that runs where the
// log belongs and that may have written it, or may have begun with `pi -c`. A
// log that was last written before pi was started, and that is not the one
// which -c continues, is not its session, unless a person has picked it.
func (s *Store) mayHold(ref session.Ref, changed time.Time) (pi running, ok bool) {
	for _, r := range s.lookout.look() {
		if r.hidden {
			return r, true
		}
		if (ref.Primary || changed.After(r.started.Add(-slack))) && r.worksOn(s.Base, ref.Path, func() string { return s.cwdOf(ref) }) {
			return r, true
		}
	}
	return running{}, false
}

func (r running) reason() string {
	if r.hidden {
		return session.ReasonPiElsewhere.Text(r.id)
	}
	return session.ReasonPiHere.Text(r.dir, r.id)
}

// Busy implements [session.Liveness]. Besides what the log shows, a pi that runs
// where the session belongs makes it busy: it would go on with what it has in
// its memory, beside a summary and in the place of a log that was rotated.
func (s *Store) Busy(ctx context.Context, q session.BusyQuestion) error {
	question := logfile.Question{BusyQuestion: q, Tail: s.Tail}
	if q.Ref.Fragment {
		question.Tail = nil // nobody will answer the last turn of a log that pi does not continue
	}
	if err := s.Ask(ctx, question); err != nil {
		return err
	}
	return s.unheld(q.Ref)
}

// unheld returns a [*session.BusyError] if a pi that runs may have a log in its
// memory.
func (s *Store) unheld(ref session.Ref) error {
	info, err := os.Lstat(ref.Path)
	if err != nil {
		return errors.Join(logfile.Gone(ref.Path), err)
	}
	if r, ok := s.mayHold(ref, info.ModTime()); ok {
		return &session.BusyError{Path: ref.Path, Reason: r.reason()}
	}
	return nil
}

// cwdOf is the working directory that a log names, "" if it names none.
func (s *Store) cwdOf(ref session.Ref) string {
	log, _, err := s.OpenLog(ref)
	if err != nil {
		return ""
	}
	defer log.Close()
	h, _, err := piformat.ReadHeader(log)
	if err != nil {
		return ""
	}
	return h.CWD
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	if err := s.Logs.Unused(ctx, path, now, quiet); err != nil {
		return err
	}
	d, name, err := s.Directory(path)
	if err != nil {
		return nil // there is none
	}
	defer d.Close()
	if info, err := d.Stat(name); err != nil || info == nil {
		return err
	}
	newest, _, err := continued(d)
	if err != nil {
		return err
	}
	return s.unheld(session.Ref{Path: path, Primary: newest == name})
}
