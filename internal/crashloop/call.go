package crashloop

import (
	"syscall"
	"time"
)

// Call is one call that would change a file below the watched directory.
type Call struct {
	N    int    // 1-based among the counted calls of the run
	Name string // of the system call
	Path string // as resolved before the call
}

// Socket is the path of every socket.
const Socket = "socket"

// Fault is what happens instead of a call. The zero value lets it pass.
type Fault struct {
	Kill  bool          // SIGKILL before the call happens
	Torn  bool          // half of a write happens, then SIGKILL
	Short bool          // half of a write happens, and the program is told so
	Lost  bool          // half of a write happens, and the program is told that all did
	Errno syscall.Errno // the call fails
	Hook  func()        // runs while the program is stopped before the call
	// Signal is sent to the program before the call, which then happens.
	Signal syscall.Signal
}

// Options say what to run and what to watch.
type Options struct {
	Args    []string // the program and its arguments
	Env     []string
	Dir     string        // working directory
	Input   string        // on stdin
	Under   string        // only calls on paths below this directory count
	Beside  string        // and below this one; "" is none
	Sockets bool          // writes to sockets count too: their path is [Socket]
	Reads   bool          // count reading calls too (for Hook at every boundary)
	Timeout time.Duration // 0 = one minute
	Lacking Lacking       // what the kernel refuses to the program
	// Started is told the process when it runs; it may be nil.
	Started func(process int)
	// Decide is asked before every counted call.
	Decide func(Call) Fault
}

// Outcome is what became of a run.
type Outcome struct {
	Calls  []Call
	Exit   int  // exit code, or -1
	Killed bool // by a signal
	Hung   bool // it was killed because Options.Timeout was over
	Output string
}

// Lacking says what the kernel refuses to a program, as the file systems do
// that do not have it. The zero value refuses nothing.
type Lacking struct {
	Leases      bool // fcntl(F_SETLEASE) is EINVAL
	RenameFlags bool // renameat2 with a flag (exchange, never replace) is EINVAL
}
