//go:build unix

package process

import (
	"errors"
	"syscall"
)

// exists reports whether a process exists, by a signal that is not sent. One
// that belongs to somebody else exists too.
func exists(pid int) bool {
	if pid <= 0 {
		return false // these are groups of processes
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
