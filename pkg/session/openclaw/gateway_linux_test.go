package openclaw_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// A gateway whose lock is out of sight is found by the state that it has open;
// another program that reads it is not one.
func TestGatewayWithStateOpen(t *testing.T) {
	for name, served := range map[string]bool{"openclaw-gateway": true, "openclaw-agent": false} {
		t.Run(name, func(t *testing.T) {
			s := newMain(t)
			s.Store = openclaw.Open(s.root, openclaw.Options{LockDirs: []string{t.TempDir()}})
			s.write(filepath.Join(s.root, "state", "openclaw.sqlite"), "")
			holdOpen(t, name, filepath.Join(s.root, "state", "openclaw.sqlite"))
			err := s.Busy(context.Background(), session.BusyQuestion{Ref: s.ref(mainID + ".jsonl"), Now: time.Now(), Quiet: quiet})
			var busy *session.BusyError
			if got := errors.As(err, &busy) && busy.Served; got != served {
				t.Errorf("%v, want served %v", err, served)
			}
		})
	}
}

// A gateway with its configuration here and its state elsewhere is another
// store's.
func TestGatewayWithStateElsewhere(t *testing.T) {
	s, other := newMain(t), newMain(t)
	database := filepath.Join(other.root, "state", "openclaw.sqlite")
	s.write(database, "")
	pid := holdOpen(t, "openclaw-gateway", database)
	temporary := t.TempDir()
	lock := `{"pid":` + pid + `,"createdAt":"2026-01-01T00:00:00.000Z","port":1,"configPath":"` + s.root + `/openclaw.json"}`
	s.write(filepath.Join(temporary, "openclaw-0", "gateway.00000000.lock"), lock)
	for store, served := range map[*state]bool{s: false, other: true} {
		store.Store = openclaw.Open(store.root, openclaw.Options{LockDirs: []string{temporary}})
		err := store.Busy(context.Background(), session.BusyQuestion{Ref: store.ref(mainID + ".jsonl"), Now: time.Now(), Quiet: quiet})
		if errors.Is(err, session.ErrBusy) != served {
			t.Errorf("%v, want served %v", err, served)
		}
	}
}

// holdOpen runs a program of this name that has a file open, and returns its
// process.
func holdOpen(t *testing.T, name, path string) string {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell:", err)
	}
	program := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(shell, program); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-c", `exec 3<"$1"; echo $$; read forever`, "sh", path)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	pid := make([]byte, 16)
	n, err := out.Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	return string(pid[:n-1])
}
