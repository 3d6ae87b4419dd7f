package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// look reads field 22 of the process's stat, its start, and field 3, its
// state.
func look(pid int) State {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name of the program, in brackets, may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < 20 {
		return State{Alive: exists(pid)} // /proc may hide the processes of others (hidepid=)
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return State{}
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	return State{Alive: true, Start: start, Known: err == nil}
}

func find(match func(Process) bool) (found []Process) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil
	}
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil || id == os.Getpid() {
			continue
		}
		p := Process{ID: id}
		said, _ := p.read("comm") // one that has ended since says nothing
		p.Name = strings.TrimSuffix(said, "\n")
		arguments, ok := p.read("cmdline")
		p.Args = strings.Split(strings.TrimRight(arguments, "\x00"), "\x00")
		if ok && arguments != "" && match(p) {
			found = append(found, p)
		}
	}
	return found
}

func (p Process) read(name string) (string, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.ID) + "/" + name)
	return string(text), err == nil
}

func (p Process) dir() (string, bool) {
	dir, err := os.Readlink("/proc/" + strconv.Itoa(p.ID) + "/cwd")
	return dir, err == nil
}

func hidden(pid int) bool {
	place := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(place)
	if err != nil {
		return false
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known || int(owner.Uid) != os.Geteuid() {
		return false
	}
	_, err = os.Readlink(place + "/cwd")
	return errors.Is(err, fs.ErrPermission)
}

func (p Process) getenv(name string) (string, bool) {
	environment, ok := p.read("environ")
	for _, variable := range strings.Split(environment, "\x00") {
		if key, value, _ := strings.Cut(variable, "="); key == name {
			return value, true
		}
	}
	return "", ok
}
