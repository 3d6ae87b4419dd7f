package process

import "time"

// Process is a process that runs. What is asked of it is read when it is asked
// for, and may be kept from others by the system: then it is not known.
type Process struct {
	ID   int
	Name string   // that the system shows; a program may have chosen it
	Args []string // with the program's own name first; a program may have overwritten them
}

// Find returns the processes of this machine that match, this one left out. A
// process in another container may be missing. It returns none where the system
// does not tell: only Linux says what is asked here, and only with /proc.
func Find(match func(Process) bool) []Process { return find(match) }

// Dir returns the directory that the process works in; false if it is not known.
func (p Process) Dir() (string, bool) { return p.dir() }

// Getenv returns a variable of the environment that the process was started
// with, "" for one that it lacks; false if it is not known.
func (p Process) Getenv(name string) (string, bool) { return p.getenv(name) }

// Started returns when the process was started, to some seconds; false if it is
// not known.
func (p Process) Started() (time.Time, bool) {
	s := look(p.ID)
	boot, known := bootTime()
	return boot.Add(time.Duration(s.Start) * time.Second / ticks), s.Alive && s.Known && known
}

// Hidden reports whether a process of this user runs of which the system tells
// nothing more than its name: this program is in a sandbox with a user namespace
// of its own, or the other one has capabilities. It may be at work on anything.
func Hidden(pid int) bool { return hidden(pid) }
