package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// booted is when this machine was started, by the earlier of two accounts. A container may be told
// the time at which it was started itself, and the kernel tells its own.
func booted() (time.Time, bool) {
	var up unix.Timespec
	boot, known := bootTime()
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return boot, known
	}
	kernel := time.Now().Add(-time.Duration(up.Nano()))
	if !known || kernel.Before(boot) {
		return kernel, true
	}
	return boot, true
}
