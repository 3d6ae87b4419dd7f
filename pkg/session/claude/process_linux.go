package claude

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// ticks is how many of the kernel's ticks are a second (USER_HZ).
const ticks = 100

// slack is by how much two clocks of the kernel may differ.
const slack = 5 * time.Second

// processRuns reports whether a process runs that was started by then: another
// one may have been given its number since. A process that has ended and was
// not waited for does not run.
func processRuns(pid int, by time.Time) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) && pathExists("/proc/self/stat") {
		return false
	}
	// The name of the program, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < 20 {
		return signalReaches(pid)
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return false
	}
	start, err := strconv.ParseInt(string(fields[19]), 10, 64)
	boot, known := bootTime()
	if err != nil || !known {
		return true
	}
	return !boot.Add(time.Duration(start) * time.Second / ticks).After(by.Add(slack))
}

// bootTime reads when the system was started, to the second.
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

func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
