package pi_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

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
	if err := s.Busy(context.Background(), s.ref(name), time.Now(), quiet); err != nil {
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
	wantBusy(t, s.Busy(context.Background(), s.ref(name), time.Now(), quiet), "pi is running in "+work)
}
