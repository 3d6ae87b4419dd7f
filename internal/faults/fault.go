//go:build linux && amd64

package faults

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// Fault is one column of the table: something that goes wrong.
type Fault struct {
	Name string
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
		all = append(all, Fault{Name: unix.SignalName(s), try: signalled(s)})
	}
	for _, e := range []struct {
		name  string
		errno syscall.Errno
	}{{"ENOSPC", syscall.ENOSPC}, {"EIO", syscall.EIO}, {"EDQUOT", syscall.EDQUOT}} {
		all = append(all, Fault{Name: e.name + " once", try: failing(e.errno, false)}, Fault{Name: e.name + " from then on", try: failing(e.errno, true)})
	}
	for _, w := range writers() {
		all = append(all, w.fault())
	}
	all = append(all, Fault{Name: "second sessctl", reads: true, try: second})
	return append(all, powerCuts()...)
}

func (f Fault) unfit(b *Bench) string {
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
		if f.at == nil || f.at(b, c) {
			some = append(some, c)
		}
	}
	return some, nil
}

func isWrite(_ *Bench, c crashloop.Call) bool { return c.Name == "write" || c.Name == "pwrite64" }

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
