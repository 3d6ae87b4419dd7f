package process

import "time"

// Claim is what a lock file says of the process that took the lock.
type Claim struct {
	PID   int
	Start uint64    // of the process, as [State].Start; 0 if the file does not say
	Since time.Time // when the lock was taken, zero if that is not known
}

// Standing is what this machine tells of a claim.
type Standing string

// The standings of a claim.
const (
	// Holds is that of a process which runs here.
	Holds Standing = "holds"
	// Unseen is that of a process which is not seen here. It has ended, or it runs in
	// another container or on another machine that shares the files.
	Unseen Standing = "unseen"
	// Over is that of a lock from before this machine was started: nobody on it has
	// the lock.
	Over Standing = "over"
)

// Standing says whether the process of a claim can hold its lock. A number alone is
// no process: another one may have been given it since, also after the machine was
// started again.
func (c Claim) Standing() Standing {
	s := look(c.PID)
	if s.Alive && s.Known && c.Start != 0 && s.Start == c.Start {
		return Holds // whatever the clocks say
	}
	if boot, known := booted(); known && !c.Since.IsZero() && c.Since.Before(boot.Add(-slack)) {
		return Over
	}
	if s.Alive && s.Known && c.Start != 0 {
		return Unseen // another process with its number
	}
	if c.Since.IsZero() && s.Alive || Runs(c.PID, c.Since) {
		return Holds
	}
	return Unseen
}
