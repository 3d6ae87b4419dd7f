package faults_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/internal/faults"
)

// A share of the calls is tried always, the same ones every time; all of them
// with SESSCTL_LONG=1 (make test-long).

// share is how many runs a command gets for each fault.
func share() int {
	if os.Getenv("SESSCTL_LONG") != "" {
		return 0
	}
	return 2
}

// TestFaults is promise 1: no fault at no call loses a line.
func TestFaults(t *testing.T) {
	program := buildProgram(t)
	for _, c := range faults.Commands() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			bench, err := faults.NewBench(program, filepath.Join(t.TempDir(), "bench"), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range faults.Faults() {
				r, err := bench.Try(f, share())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %d runs, %d violations %s", f.Name, r.Runs, len(r.Violations), r.Skipped)
				for _, v := range r.Violations {
					t.Errorf("%s: %s", f.Name, v)
				}
			}
		})
	}
}

// buildProgram builds sessctl. It runs before the tests that are parallel.
func buildProgram(t *testing.T, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "sessctl")
	cmd := exec.Command("go", append(append([]string{"build", "-o", program}, flags...), "github.com/sessctl/sessctl")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return program
}
