//go:build unix && !linux

package claude

import "time"

// processRuns reports whether a process runs; when it was started is not known.
func processRuns(pid int, _ time.Time) bool { return signalReaches(pid) }
