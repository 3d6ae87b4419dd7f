package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// A log on which another program has a lease, such as another sessctl with a data
// directory of its own that is changing the session, is busy: nothing has failed,
// and another time it is done.
func TestLeasedLogIsBusy(t *testing.T) {
	program, dir := buildProgram(t), t.TempDir()
	log := filepath.Join(dir, "home", ".openclaw/agents/librarian/sessions", "33774103-7edb-4696-ba71-100ef2c253bc.jsonl")
	if err := os.CopyFS(filepath.Join(dir, "home"), os.DirFS(filepath.Join(module, "testdata/sample"))); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		cmd := exec.Command(program, args...)
		cmd.Env = []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(log, old, old); err != nil {
		t.Fatal(err)
	}
	if code, out := run("archive", "--agent", "librarian"); code != 0 {
		t.Fatalf("archive: exit %d: %s", code, out)
	}
	held, err := os.OpenFile(log, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for _, args := range [][]string{
		{"compact", "--agent", "librarian", "--force", "--strategy", "rotate"},
		{"compact", "--agent", "librarian", "--force", "--dry-run"},
		{"archive", "--agent", "librarian"},
		{"archive", "--agent", "librarian", "--remember"},
		{"restore", "33774103-7edb-4696-ba71-100ef2c253bc"},
	} {
		lease, err := durable.WriteLease(held)
		if errors.Is(err, durable.ErrUnsupported) {
			t.Skip("no leases here")
		}
		if err != nil {
			t.Fatal(err)
		}
		if code, out := run(args...); code != 75 {
			t.Errorf("%q: exit %d: %s", args, code, out)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
