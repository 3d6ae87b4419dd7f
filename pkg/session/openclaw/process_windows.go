package openclaw

import "os"

// processState reports whether a process exists; when it was started is not
// known.
func processState(pid int) (start uint64, known, alive bool) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return 0, false, false
	}
	p.Release()
	return 0, false, true
}
