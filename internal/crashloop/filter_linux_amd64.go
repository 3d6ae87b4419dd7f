package crashloop

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stops is the filter under which the program stops only at calls that may
// count. Without it every futex and every timer of the runtime is a stop, and
// those are nine of ten.
func (t *tracer) stops() []unix.SockFilter {
	filter := []unix.SockFilter{load(offsetArch), skipIf(unix.AUDIT_ARCH_X86_64, 1), allow(), load(offsetCall)}
	for nr, c := range t.table {
		flags, named := map[operand]uint32{byOpen: 1, byOpenAt: 2}[c.kind]
		if !named || t.options.Reads {
			filter = append(filter, skipUnless(uint32(nr), 1), trace())
			continue
		}
		filter = append(filter, skipUnless(uint32(nr), 4), load(offsetArgs+flags*8),
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syscall.O_CREAT | syscall.O_TRUNC, Jf: 1}, trace(), allow())
	}
	return append(filter, allow())
}

// inject makes a process that stands at its first instruction put a filter on
// itself. It cannot come from this process, as [Lacking.On] does it: who has a
// filter that asks a tracer, and no tracer, gets ENOSYS.
func inject(pid int, filter []unix.SockFilter) error {
	var before syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(pid, &before); err != nil {
		return err
	}
	instruction := []byte{0x0f, 0x05} // syscall
	saved := make([]byte, len(instruction))
	if _, err := syscall.PtracePeekText(pid, uintptr(before.Rip), saved); err != nil {
		return err
	}
	program := before.Rsp - 8192 // below what the stack holds
	if _, err := syscall.PtracePokeData(pid, uintptr(program), sockProgram(program, filter)); err != nil {
		return err
	}
	if _, err := syscall.PtracePokeText(pid, uintptr(before.Rip), instruction); err != nil {
		return err
	}
	if err := step(pid, before, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
		return err
	}
	if err := step(pid, before, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, program); err != nil {
		return err
	}
	if _, err := syscall.PtracePokeText(pid, uintptr(before.Rip), saved); err != nil {
		return err
	}
	return syscall.PtraceSetRegs(pid, &before)
}

// step has the process call prctl with these arguments.
func step(pid int, regs syscall.PtraceRegs, option, second, third uint64) error {
	regs.Rax, regs.Orig_rax = unix.SYS_PRCTL, ^uint64(0)
	regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8 = option, second, third, 0, 0
	if err := syscall.PtraceSetRegs(pid, &regs); err != nil {
		return err
	}
	if err := syscall.PtraceSingleStep(pid); err != nil {
		return err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if !status.Stopped() || status.StopSignal() != syscall.SIGTRAP {
		return fmt.Errorf("prctl(%d) ended with status %#x", option, status)
	}
	if err := syscall.PtraceGetRegs(pid, &regs); err != nil {
		return err
	}
	if regs.Rax != 0 {
		return fmt.Errorf("prctl(%d): %w", option, syscall.Errno(-int64(regs.Rax)))
	}
	return nil
}

// sockProgram is a struct sock_fprog at an address, and its filter behind it.
func sockProgram(address uint64, filter []unix.SockFilter) []byte {
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(filter)))
	head = binary.LittleEndian.AppendUint64(head, address+16)
	for _, f := range filter {
		head = binary.LittleEndian.AppendUint16(head, f.Code)
		head = append(head, f.Jt, f.Jf)
		head = binary.LittleEndian.AppendUint32(head, f.K)
	}
	return head
}

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

// trace asks the tracer what becomes of the call.
func trace() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE}
}

func refuse() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)}
}
