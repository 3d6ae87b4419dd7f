package crashloop

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// On calls fn on a thread of its own on which the kernel refuses these calls:
// to fn and to every program that it starts.
func (l Lacking) On(fn func() error) error {
	if l == (Lacking{}) {
		return fn()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its filter
		err := l.install()
		if err == nil {
			err = fn()
		}
		done <- err
	}()
	return <-done
}

// Offsets in the kernel's struct seccomp_data; arguments are 64 bits wide and
// the lower half, which is all that counts here, comes first.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16
)

// install puts a filter on this thread (seccomp(2)). A program that is started
// from it inherits the filter.
func (l Lacking) install() error {
	// Another architecture has other numbers.
	filter := []unix.SockFilter{load(offsetArch), skipIf(unix.AUDIT_ARCH_X86_64, 1), allow()}
	if l.Leases {
		filter = append(filter, load(offsetCall), skipUnless(unix.SYS_FCNTL, 3), load(offsetArgs+8), skipUnless(unix.F_SETLEASE, 1), refuse())
	}
	if l.RenameFlags {
		filter = append(filter, load(offsetCall), skipUnless(unix.SYS_RENAMEAT2, 3), load(offsetArgs+4*8), skipIf(0, 1), refuse())
	}
	filter = append(filter, allow())
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("install the filter: %w", err)
	}
	runtime.KeepAlive(filter)
	return nil
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// skipUnless goes on if the loaded word is k, else over the next n steps.
func skipUnless(k uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: n}
}

// skipIf goes over the next n steps if the loaded word is k.
func skipIf(k uint32, n uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: n}
}

func allow() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
}

func refuse() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)}
}
