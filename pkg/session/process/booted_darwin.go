package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// booted is when this machine was started.
func booted() (time.Time, bool) {
	at, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(at.Unix()), true
}
