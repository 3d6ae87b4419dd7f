package pi_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// A process that is called pi, and works where a log belongs, is found by what
// Linux tells of it.
func TestARealProcessIsFound(t *testing.T) {
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s := &state{t: t, root: filepath.Join(home, ".pi", "agent", "sessions")}
	s.Store = pi.Open(s.root)
	s.write(filepath.Join(s.root, pi.DirectoryOf(work), name), transcript(id, 3))
	if err := s.Busy(context.Background(), session.BusyQuestion{Ref: s.ref(name), Now: time.Now(), Quiet: quiet}); err != nil {
		t.Fatal("before it runs:", err)
	}
	program := exec.Command("/bin/sh", "-c", "echo started; read end")
	program.Args[0], program.Dir, program.Env = "pi", work, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	end, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Skip("no program to run: ", err)
	}
	defer func() { end.Close(); _ = program.Wait() }()
	if _, err := started.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.Store = pi.Open(s.root) // a look may be a second old
	wantBusy(t, s.Busy(context.Background(), session.BusyQuestion{Ref: s.ref(name), Now: time.Now(), Quiet: quiet}), "pi is running in "+work)
}

// In a sandbox with a user namespace of its own (PrivateUsers= of a systemd unit)
// the system does not say where another process works. A pi of this user may work
// anywhere then: no session is idle.
func TestARealProcessIsFoundInASandbox(t *testing.T) {
	if root := os.Getenv("SESSCTL_TEST_SANDBOXED"); root != "" {
		s := &state{t: t, root: root, Store: pi.Open(root)}
		wantBusy(t, s.Busy(context.Background(), session.BusyQuestion{Ref: s.ref(name), Now: time.Now(), Quiet: quiet}), "the system does not say where")
		return
	}
	home := t.TempDir()
	s := &state{t: t, root: filepath.Join(home, ".pi", "agent", "sessions")}
	s.write(filepath.Join(s.root, pi.DirectoryOf("/somewhere"), name), transcript(id, 3))
	program := exec.Command("/bin/sh", "-c", "echo started; read end")
	program.Args[0], program.Dir = "pi", t.TempDir()
	end, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	started, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Skip("no program to run: ", err)
	}
	defer func() { end.Close(); _ = program.Wait() }()
	if _, err := started.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	sandboxed := exec.Command(os.Args[0], "-test.run=^TestARealProcessIsFoundInASandbox$")
	sandboxed.Env = append(os.Environ(), "SESSCTL_TEST_SANDBOXED="+s.root)
	sandboxed.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}
	out, err := sandboxed.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skip("no user namespace to be had: ", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
