package durable

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

func keepPrivate(_, _ string, _ syscall.RawConn) error { return nil }

func isRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }
