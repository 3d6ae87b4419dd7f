package openclaw

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// processState returns when a process was started (field 22 of its stat, in
// ticks since the system was) and whether it runs. A process that has ended
// and was not waited for does not.
func processState(pid int) (start uint64, known, alive bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) && pathExists("/proc/self/stat") {
		return 0, false, false
	}
	// The name of the program, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < 20 {
		return 0, false, signalReaches(pid)
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return 0, false, false
	}
	start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return start, err == nil, true
}

func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
