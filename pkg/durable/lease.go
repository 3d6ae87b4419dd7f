package durable

import (
	"errors"
	"fmt"
	"os"
)

// Lease is the kernel's promise that nobody else has a file open. A process
// that wants to open it meanwhile waits until the lease is released (on Linux
// 45 s at most, /proc/sys/fs/lease-break-time), so a lease is held for
// milliseconds.
type Lease struct {
	file     *os.File
	released bool
}

// WriteLease takes a write lease on an open file. [ErrHeld] is returned when
// anybody else has the file open, reading or writing; [ErrUnsupported] where
// leases do not exist: other systems than Linux, network file systems, files
// of another user. The lease ends with [Lease.Release] or when f is closed.
//
// The signal with which the kernel announces that somebody waits is SIGURG,
// which ends no program, instead of SIGIO, which by default does.
func WriteLease(f *os.File) (*Lease, error) {
	if err := takeLease(f); err != nil {
		return nil, fmt.Errorf("lease on %s: %w", f.Name(), err)
	}
	return &Lease{file: f}, nil
}

// OpenElsewhere reports whether anybody else has an open file open at this moment,
// for a file that only sessctl writes. Where there are no leases it reports false.
func OpenElsewhere(f *os.File) (bool, error) {
	lease, err := WriteLease(f)
	switch {
	case errors.Is(err, ErrHeld):
		return true, nil
	case errors.Is(err, ErrUnsupported):
		return false, nil
	case err != nil:
		return false, err
	}
	return false, lease.Release()
}

// Held reports whether the lease is still whole: false once another process is
// waiting to open the file.
func (l *Lease) Held() bool {
	return !l.released && leaseHeld(l.file)
}

// Release gives the lease back and lets a waiting process on. Releasing it
// twice is no error.
func (l *Lease) Release() error {
	if l.released {
		return nil
	}
	if err := dropLease(l.file); err != nil {
		return fmt.Errorf("release lease on %s: %w", l.file.Name(), err)
	}
	l.released = true
	return nil
}
