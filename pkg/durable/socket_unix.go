//go:build linux || darwin

package durable

import (
	"errors"
	"syscall"
)

// keepPrivate gives a socket its mode before it has a name, so that there is no
// moment at which others may connect. Where the system does not do that, the
// mode is set right after.
func keepPrivate(_, _ string, conn syscall.RawConn) error {
	return conn.Control(func(fd uintptr) {
		_ = syscall.Fchmod(int(fd), 0o600) // not every system can; the mode is set again by name
	})
}

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
