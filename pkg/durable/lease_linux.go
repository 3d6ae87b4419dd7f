package durable

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func takeLease(f *os.File) error {
	return onDescriptor(f, func(fd uintptr) error {
		if _, err := unix.FcntlInt(fd, unix.F_SETSIG, int(unix.SIGURG)); err != nil {
			return ErrUnsupported
		}
		_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EAGAIN):
			return ErrHeld
		case errors.Is(err, unix.EBADF):
			return err
		}
		// EINVAL: this file system has none; EACCES: another user's file.
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	})
}

func leaseHeld(f *os.File) bool {
	held := false
	err := onDescriptor(f, func(fd uintptr) error {
		kind, err := unix.FcntlInt(fd, unix.F_GETLEASE, 0)
		held = kind == unix.F_WRLCK
		return err
	})
	return err == nil && held
}

func dropLease(f *os.File) error {
	return onDescriptor(f, func(fd uintptr) error {
		_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
		return err
	})
}

// onDescriptor calls fn with the descriptor of f, which stays open meanwhile.
func onDescriptor(f *os.File, fn func(fd uintptr) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = fn(fd) }); err != nil {
		return err
	}
	return inner
}
