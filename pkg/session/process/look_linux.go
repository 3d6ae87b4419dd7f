package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
)

// look reads field 22 of the process's stat, its start, and field 3, its
// state.
func look(pid int) State {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) && isThere("/proc/self/stat") {
		return State{}
	}
	// The name of the program, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < 20 {
		return State{Alive: exists(pid)}
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return State{}
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return State{Alive: true, Start: start, Known: err == nil}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
