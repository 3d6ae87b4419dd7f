package openclaw

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/session/process"
)

// gatewayCommand is the name of a gateway's process, cut off by the system
// after 15 bytes.
const gatewayCommand = "openclaw-gatewa"

// stateOpen reports whether a process has this state database open. It is not
// known if the process is another user's, or has none open (yet).
func stateOpen(pid int, database string) (open, known bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, false
	}
	mine, mineErr := os.Stat(database)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		path, err := os.Readlink(name)
		if err != nil || !strings.HasSuffix(path, "/state/openclaw.sqlite") {
			continue
		}
		known = true
		if its, err := os.Stat(name); err == nil && mineErr == nil && os.SameFile(mine, its) {
			return true, true
		}
	}
	return false, known
}

// gatewayWithOpen returns the process of a gateway that has this state
// database open, 0 if there is none.
func gatewayWithOpen(database string) int {
	if _, err := os.Lstat(database); err != nil {
		return 0
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/comm") // the pattern is right
	for _, name := range processes {
		command, err := os.ReadFile(name)
		if err != nil || strings.TrimSpace(string(command)) != gatewayCommand {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			continue
		}
		// One that cannot be asked what it has open is taken to have it.
		if open, _ := stateOpen(pid, database); open || process.Hidden(pid) {
			return pid
		}
	}
	return 0
}
