package process

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// ticks is how many of the kernel's ticks are a second (USER_HZ).
const ticks = 100

// slack is by how much two clocks of the kernel may differ.
const slack = 5 * time.Second

// State is what the system says of one process.
type State struct {
	Alive bool   // it runs; one that has ended and was not waited for does not
	Start uint64 // when it was started, in ticks since the system was
	Known bool   // whether Start is known: only Linux says it
}

// Look returns the state of a process. Where the system does not tell, a
// process runs if it exists.
func Look(pid int) State { return look(pid) }

// Runs reports whether a process runs that was started by then: another one
// may have been given its number since. Where the start is not known, it is
// enough that the process runs, and that the machine was started by then.
func Runs(pid int, by time.Time) bool {
	s := look(pid)
	if boot, known := booted(); s.Alive && !s.Known && known {
		return by.IsZero() || !by.Before(boot.Add(-slack))
	}
	if !s.Alive || !s.Known {
		return s.Alive
	}
	started, known := Process{ID: pid}.Started()
	return !known || !started.After(by.Add(slack))
}

// bootTime reads when the system was started, to the second; false where it
// does not say.
func bootTime() (time.Time, bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return time.Time{}, false
	}
	_, rest, ok := bytes.Cut(stat, []byte("\nbtime "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	seconds, err := strconv.ParseInt(string(line), 10, 64)
	return time.Unix(seconds, 0), ok && err == nil
}
