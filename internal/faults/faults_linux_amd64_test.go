package faults_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sessctl/sessctl/internal/faults"
)

// A share of the calls is tried always, the same ones every time; all of them
// with SESSCTL_LONG=1 (make test-long).

// share is how many runs a command gets for each fault.
func share(c faults.Command) int {
	switch {
	case os.Getenv("SESSCTL_LONG") != "":
		return 0
	case c.Intends:
		return 3
	}
	return 1
}

// TestFaults is promise 1: no fault at no call loses a line.
func TestFaults(t *testing.T) {
	program := faults.BuiltProgram(t)
	for _, c := range faults.Commands() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			bench, err := faults.NewBench(program, place(t), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range faults.Faults() {
				tryFault(t, bench, f, share(c))
			}
		})
	}
}

// Where the system has no leases and cannot exchange names, nothing is lost
// either. Power cuts are left to the long run: they do not meet these calls more
// than others.
func TestFaultsWhereTheSystemGivesLess(t *testing.T) {
	program, long := faults.BuiltProgram(t), os.Getenv("SESSCTL_LONG") != ""
	for _, c := range faults.Commands() {
		systems := faults.Systems()
		if !long {
			systems = systems[len(systems)-1:]
		}
		if !long && !c.Sessions {
			continue
		}
		for _, system := range systems {
			c := c.On(system)
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				bench, err := faults.NewBench(program, place(t), c)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range faults.Faults() {
					if !long && strings.HasPrefix(f.Name, "power cut") {
						continue
					}
					tryFault(t, bench, f, share(c))
				}
			})
		}
	}
}

func tryFault(t *testing.T, bench *faults.Bench, f faults.Fault, share int) {
	t.Helper()
	r, err := bench.Try(f, share)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d runs, %d violations %s", f.Name, r.Runs, len(r.Violations), r.Skipped)
	for _, v := range r.Violations {
		t.Errorf("%s: %s", f.Name, v)
	}
}

// What reaches an old log after it was put aside comes into the session that
// followed. It takes a program that opens the log in the last instant, so all
// those calls are tried, and one must have met it.
func TestLateLinesAreCarried(t *testing.T) {
	program := faults.BuiltProgram(t)
	for _, c := range faults.Commands() {
		if !c.Intends {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			bench, err := faults.NewBench(program, place(t), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range faults.Faults() {
				if f.Name != "log opened at the switch, written to after the run" {
					continue
				}
				for range 5 { // who waits for the lease may come a moment too late
					tryFault(t, bench, f, 0)
					if bench.Carried > 0 {
						break
					}
				}
			}
			if bench.Carried == 0 {
				t.Fatal("no late line was carried")
			}
		})
	}
}

// A dry run changes nothing: not one mutating call.
func TestDryRunMakesNoMutatingCall(t *testing.T) {
	program := faults.BuiltProgram(t)
	for _, c := range faults.Commands() {
		if !c.Sessions || c.Args[0] == "archive" && c.Args[1] != "restore" {
			continue // it has no dry run
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			bench, err := faults.NewBench(program, place(t), c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := bench.DryRun()
			if err != nil || got.Exit != 0 || len(got.Calls) > 0 {
				t.Fatalf("exit %d, %v, calls %v\n%s", got.Exit, err, got.Calls, got.Output)
			}
		})
	}
}

// place is a new directory in memory, if there is room: thousands of syncs on
// a disk would take most of the time, and what they do is tried on file systems
// of our own.
func place(t *testing.T) string {
	t.Helper()
	const memory, room = "/dev/shm", 1 << 30
	var free syscall.Statfs_t
	if err := syscall.Statfs(memory, &free); err != nil || free.Bavail*uint64(free.Bsize) < room {
		return filepath.Join(t.TempDir(), "bench")
	}
	dir, err := os.MkdirTemp(memory, "faults-*")
	if err != nil {
		return filepath.Join(t.TempDir(), "bench")
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "bench")
}
