package session

import "time"

// RuntimeLock is a lock file that a runtime keeps beside its sessions. It is
// never removed by this tool.
type RuntimeLock struct {
	Path    string
	Process int       // that took it; 0 if the file does not say
	Alive   bool      // that process still runs, and is not another with its number
	Since   time.Time // as the file says, else when it was written
	Stale   bool      // the runtime itself would take it for forgotten
}
