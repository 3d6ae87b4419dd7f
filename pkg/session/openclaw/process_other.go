//go:build unix && !linux

package openclaw

// processState reports whether a process runs; when it was started is not
// known.
func processState(pid int) (start uint64, known, alive bool) {
	return 0, false, signalReaches(pid)
}
