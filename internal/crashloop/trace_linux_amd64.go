package crashloop

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs the program once. The error is about tracing, not about the
// program. Several may run at the same time, each on a directory of its own.
func Run(o Options) (outcome Outcome, err error) {
	err = o.Lacking.On(func() error {
		outcome, err = run(o)
		return err
	})
	return outcome, err
}

func run(o Options) (Outcome, error) {
	runtime.LockOSThread() // the thread that starts a program is the one that traces it
	defer runtime.UnlockOSThread()
	t := &tracer{options: o, table: mutating(), threads: map[int]*thread{}}
	if o.Reads {
		for nr, c := range reading() {
			t.table[nr] = c
		}
	}
	return t.run()
}

type tracer struct {
	options Options
	table   map[uint64]traced
	threads map[int]*thread
	group   int
	outcome Outcome
	dead    bool // the program was killed by us; only reap
}

// thread is one thread of the program, between the entry and the exit of a
// system call that is tampered with.
type thread struct {
	fail  syscall.Errno // what to return at the exit
	torn  bool
	claim uint64 // how many bytes to say were written, 0 for the truth
}

// inputFile is an open file without a name that holds a text.
func inputFile(text string) (*os.File, error) {
	f, err := os.CreateTemp("", "crashloop-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(text); err != nil {
		return f, errors.Join(err, f.Close())
	}
	_, err = f.Seek(0, 0)
	return f, err
}

// tampered says that the exit of the call must be seen too.
func (th *thread) tampered() bool { return th.fail != 0 || th.torn || th.claim != 0 }

func (t *tracer) run() (Outcome, error) {
	output, err := os.CreateTemp("", "crashloop-*")
	if err != nil {
		return t.outcome, err
	}
	defer os.Remove(output.Name())
	defer output.Close()
	cmd := exec.Command(t.options.Args[0], t.options.Args[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = t.options.Env, t.options.Dir, output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if t.options.Input != "" { // a file: nobody copies while the program is traced
		input, err := inputFile(t.options.Input)
		if err != nil {
			return t.outcome, err
		}
		defer input.Close()
		cmd.Stdin = input
	}
	if err := cmd.Start(); err != nil {
		return t.outcome, fmt.Errorf("start %s: %w", t.options.Args[0], err)
	}
	t.group = cmd.Process.Pid
	limit := t.options.Timeout
	if limit == 0 {
		limit = time.Minute
	}
	if t.options.Started != nil {
		t.options.Started(t.group)
	}
	timer := time.AfterFunc(limit, func() { syscall.Kill(-t.group, syscall.SIGKILL) })
	err = t.loop()
	t.outcome.Hung = !timer.Stop()
	if err != nil {
		syscall.Kill(-t.group, syscall.SIGKILL)
		return t.outcome, err
	}
	text, err := os.ReadFile(output.Name())
	t.outcome.Output = string(text)
	return t.outcome, err
}

const traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
	unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_EXITKILL

// loop handles stops until the program and all its children are gone.
func (t *tracer) loop() error {
	const waitAll = 0x40000000 // __WALL
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(t.group, &status, waitAll, nil); err != nil {
		return fmt.Errorf("wait for the program to start: %w", err)
	}
	if err := syscall.PtraceSetOptions(t.group, traceOptions); err != nil {
		return fmt.Errorf("set trace options: %w", err)
	}
	t.threads[t.group] = &thread{}
	if err := inject(t.group, t.stops()); err != nil {
		return fmt.Errorf("put a filter on the program: %w", err)
	}
	if err := syscall.PtraceCont(t.group, 0); err != nil {
		return fmt.Errorf("continue the program: %w", err)
	}
	for {
		tid, err := syscall.Wait4(-t.group, &status, waitAll, nil)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.ECHILD {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		t.stopped(tid, status)
	}
}

func (t *tracer) stopped(tid int, status syscall.WaitStatus) {
	if status.Exited() || status.Signaled() {
		t.ended(tid, status)
		return
	}
	th := t.threads[tid]
	if th == nil {
		th = &thread{}
		t.threads[tid] = th
	}
	signal := 0
	switch {
	case status.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
		t.registers(tid, func(regs *syscall.PtraceRegs) { t.enter(tid, th, regs) })
	case status.StopSignal() == syscall.SIGTRAP|0x80:
		t.registers(tid, func(regs *syscall.PtraceRegs) { t.leave(tid, th, regs) })
	case status.StopSignal() == syscall.SIGTRAP, status.StopSignal() == syscall.SIGSTOP:
		// a clone, an exec, or a new thread's first stop
	default:
		signal = int(status.StopSignal())
	}
	resume := syscall.PtraceCont
	if th.tampered() {
		resume = syscall.PtraceSyscall // to the exit of this call
	}
	_ = resume(tid, signal) // it may be gone by now: the next wait tells
}

func (t *tracer) ended(tid int, status syscall.WaitStatus) {
	delete(t.threads, tid)
	if tid != t.group {
		return
	}
	t.outcome.Exit = -1
	if status.Exited() {
		t.outcome.Exit = status.ExitStatus()
	}
	t.outcome.Killed = status.Signaled()
}

// registers hands the registers of a stopped thread on, unless the program is
// being killed.
func (t *tracer) registers(tid int, fn func(*syscall.PtraceRegs)) {
	var regs syscall.PtraceRegs
	if !t.dead && syscall.PtraceGetRegs(tid, &regs) == nil {
		fn(&regs)
	}
}

// enter asks what should become of a counted call.
func (t *tracer) enter(tid int, th *thread, regs *syscall.PtraceRegs) {
	call, ok := t.table[regs.Orig_rax]
	if !ok {
		return
	}
	path, ok := t.watched(tid, call, regs)
	if !ok {
		return
	}
	c := Call{N: len(t.outcome.Calls) + 1, Name: call.name, Path: path}
	t.outcome.Calls = append(t.outcome.Calls, c)
	if t.options.Decide == nil {
		return
	}
	t.apply(tid, th, call, regs, t.options.Decide(c))
}

func (t *tracer) apply(tid int, th *thread, call traced, regs *syscall.PtraceRegs, f Fault) {
	if f.Hook != nil {
		f.Hook()
	}
	if f.Signal != 0 {
		_ = syscall.Kill(t.group, f.Signal) // it is there: it is stopped
	}
	switch {
	case f.Kill:
		t.kill()
	case (f.Torn || f.Short || f.Lost) && call.write && regs.Rdx > 1:
		if f.Lost {
			th.claim = regs.Rdx
		}
		regs.Rdx /= 2
		th.torn = f.Torn
		_ = syscall.PtraceSetRegs(tid, regs)
	case f.Errno != 0:
		th.fail = f.Errno
		regs.Orig_rax = ^uint64(0) // no such call: it does nothing
		_ = syscall.PtraceSetRegs(tid, regs)
	}
}

// leave sets the result of a call that was made to fail or to lie.
func (t *tracer) leave(tid int, th *thread, regs *syscall.PtraceRegs) {
	if th.torn {
		t.kill()
		return
	}
	if !th.tampered() {
		return
	}
	regs.Rax = uint64(-int64(th.fail))
	if th.claim != 0 {
		regs.Rax = th.claim
	}
	*th = thread{}
	_ = syscall.PtraceSetRegs(tid, regs)
}

func (t *tracer) kill() {
	t.dead = true
	syscall.Kill(-t.group, syscall.SIGKILL)
}

// watched resolves the file of a call and says whether it counts.
func (t *tracer) watched(tid int, call traced, r *syscall.PtraceRegs) (string, bool) {
	var path string
	flags := uint64(0)
	switch call.kind {
	case byFD:
		path = fdPath(tid, r.Rdi)
	case byPath, byTwoPaths:
		path = atPath(tid, atCWD, memoryString(tid, r.Rdi))
	case byDirPath, byTwoDirPath:
		path = atPath(tid, r.Rdi, memoryString(tid, r.Rsi))
	case byOpen:
		path, flags = atPath(tid, atCWD, memoryString(tid, r.Rdi)), r.Rsi
	case byOpenAt:
		path, flags = atPath(tid, r.Rdi, memoryString(tid, r.Rsi)), r.Rdx
	}
	if (call.kind == byOpen || call.kind == byOpenAt) && flags&(syscall.O_CREAT|syscall.O_TRUNC) == 0 && !t.options.Reads {
		return path, false
	}
	if call.write && t.options.Sockets && strings.HasPrefix(path, "socket:") {
		return Socket, true
	}
	return path, isBelow(path, t.options.Under) || t.options.Beside != "" && isBelow(path, t.options.Beside)
}

func isBelow(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+string(filepath.Separator))
}

const atCWD = ^uint64(99) // AT_FDCWD

func fdPath(tid int, fd uint64) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(fd)))
	return strings.TrimSuffix(path, " (deleted)")
}

func atPath(tid int, dir uint64, path string) string {
	if fd, below, _ := strings.Cut(strings.TrimPrefix(path, "/proc/self/fd/"), "/"); strings.HasPrefix(path, "/proc/self/fd/") {
		number, _ := strconv.ParseInt(fd, 10, 32)
		return filepath.Join(fdPath(tid, uint64(number)), below)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	base, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", tid))
	if int32(dir) != -100 {
		base = fdPath(tid, dir)
	}
	return filepath.Join(base, path)
}

// memoryString reads a C string of the program, page by page: what is behind one may
// not be there.
func memoryString(tid int, address uint64) string {
	const page, longest = 4096, 4096 // PATH_MAX
	var text []byte
	for len(text) < longest {
		at := address + uint64(len(text))
		piece := make([]byte, min(256, page-at%page)) // few paths are longer
		n, err := unix.ProcessVMReadv(tid, []unix.Iovec{{Base: &piece[0], Len: uint64(len(piece))}}, []unix.RemoteIovec{{Base: uintptr(at), Len: len(piece)}}, 0)
		if err != nil || n <= 0 {
			break
		}
		if i := bytes.IndexByte(piece[:n], 0); i >= 0 {
			return string(append(text, piece[:i]...))
		}
		text = append(text, piece[:n]...)
	}
	return string(text)
}

// operand says where a call names its file.
type operand int

const (
	byFD operand = iota
	byPath
	byDirPath    // dirfd, path
	byTwoPaths   // path, path
	byTwoDirPath // dirfd, path, dirfd, path
	byOpen       // path, flags
	byOpenAt     // dirfd, path, flags
)

type traced struct {
	name  string
	kind  operand
	write bool // the third argument is a length that can be cut
}

// mutating lists the calls that change files.
func mutating() map[uint64]traced {
	return map[uint64]traced{
		syscall.SYS_WRITE: {"write", byFD, true}, syscall.SYS_PWRITE64: {"pwrite64", byFD, true},
		syscall.SYS_WRITEV: {"writev", byFD, false}, syscall.SYS_PWRITEV: {"pwritev", byFD, false},
		syscall.SYS_FSYNC: {"fsync", byFD, false}, syscall.SYS_FDATASYNC: {"fdatasync", byFD, false},
		syscall.SYS_FTRUNCATE: {"ftruncate", byFD, false}, syscall.SYS_TRUNCATE: {"truncate", byPath, false},
		syscall.SYS_FALLOCATE: {"fallocate", byFD, false},
		syscall.SYS_RENAME:    {"rename", byTwoPaths, false}, syscall.SYS_RENAMEAT: {"renameat", byTwoDirPath, false}, 316: {"renameat2", byTwoDirPath, false},
		syscall.SYS_LINK: {"link", byTwoPaths, false}, syscall.SYS_LINKAT: {"linkat", byTwoDirPath, false},
		syscall.SYS_UNLINK: {"unlink", byPath, false}, syscall.SYS_UNLINKAT: {"unlinkat", byDirPath, false}, syscall.SYS_RMDIR: {"rmdir", byPath, false},
		syscall.SYS_MKDIR: {"mkdir", byPath, false}, syscall.SYS_MKDIRAT: {"mkdirat", byDirPath, false},
		syscall.SYS_OPEN: {"open", byOpen, false}, syscall.SYS_OPENAT: {"openat", byOpenAt, false},
		syscall.SYS_CHMOD: {"chmod", byPath, false}, syscall.SYS_FCHMOD: {"fchmod", byFD, false}, syscall.SYS_FCHMODAT: {"fchmodat", byDirPath, false},
		syscall.SYS_FCHOWN: {"fchown", byFD, false}, syscall.SYS_FCHOWNAT: {"fchownat", byDirPath, false},
		syscall.SYS_UTIMENSAT: {"utimensat", byDirPath, false},
		326:                   {"copy_file_range", byFD, false},
	}
}

// reading lists what else is counted with Options.Reads: the boundaries at
// which somebody else's write can fall.
func reading() map[uint64]traced {
	return map[uint64]traced{
		syscall.SYS_READ: {"read", byFD, false}, syscall.SYS_PREAD64: {"pread64", byFD, false},
		syscall.SYS_FSTAT: {"fstat", byFD, false}, syscall.SYS_NEWFSTATAT: {"newfstatat", byDirPath, false},
		syscall.SYS_FCNTL: {"fcntl", byFD, false}, syscall.SYS_GETDENTS64: {"getdents64", byFD, false},
		syscall.SYS_CLOSE: {"close", byFD, false}, syscall.SYS_FLOCK: {"flock", byFD, false},
	}
}
