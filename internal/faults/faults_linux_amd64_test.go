package faults_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/faults"
	"github.com/sessctl/sessctl/internal/scratch"
	"github.com/sessctl/sessctl/internal/tier"
)

// The fault runs come in three tiers (docs/dev/testing.md), chosen by the
// environment: a smoke share, the same every time, so that make test takes a minute;
// with SESSCTL_FAULTS=1 (make test-faults) the rows that a change touches and some
// others, at one call for each fault, or at three; with SESSCTL_LONG=1 (make
// test-nightly) all rows and all faults, at some calls that each seed chooses anew or
// at every call.

// share is how many runs a command gets for each fault, 0 for one at every call.
func share(c faults.Command) int {
	switch {
	case tier.Long():
		return tier.Calls()
	case tier.Smoke():
		return 1
	}
	return changeShare(c)
}

// changeShare is what make test-faults gives it.
func changeShare(c faults.Command) int {
	if c.Intends {
		return 3
	}
	return 1
}

// smoke are the commands of the smoke share: the main ways in which a log, an
// archive, memory or a setting is changed, each once.
func smoke() []string {
	return []string{
		"compact, rotate, openclaw", "compact, rotate, pi", "compact, overlay, pi", "compact, rewrite, annabelle", "shrink sessions",
		"undo, rotate, pi", "late lines, pi", "archive, and remember", "restore", "archives prune, purge", "clean, purge",
		"memory forget", "hook install",
	}
}

// inSmoke says that the smoke share has a command.
func inSmoke(c faults.Command) bool { return slices.Contains(smoke(), c.Name) }

// Each command of the smoke share is one that there is.
func TestSmokeShare(t *testing.T) {
	for _, name := range smoke() {
		if !slices.ContainsFunc(faults.Commands(), func(c faults.Command) bool { return c.Name == name }) {
			t.Errorf("there is no %q", name)
		}
	}
}

// TestFaults is promise 1: no fault at no call loses a line.
func TestFaults(t *testing.T) {
	program, choice := faults.BuiltProgram(t), chosen(t)
	rows := map[bool]int{} // a writer meets only commands that work on sessions
	for _, c := range faults.Commands() {
		if !tries(choice, c) {
			continue
		}
		first := rows[c.Sessions]
		rows[c.Sessions]++
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			tryFaults(t, newBench(t, program, c), columns(choice, c), first)
		})
	}
}

// Where the system has no leases and cannot exchange names, nothing is lost
// either. Power cuts are left to the long run: they do not meet these calls more
// than others.
func TestFaultsWhereTheSystemGivesLess(t *testing.T) {
	tier.SkipSmoke(t, "what it changes is in the calls that TestFaults tries")
	program, choice := faults.BuiltProgram(t), chosen(t)
	for _, c := range faults.Commands() {
		if !tries(choice, c) || !tier.Long() && !c.Sessions {
			continue
		}
		for _, system := range lessers() {
			c := c.On(system)
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				tryFaults(t, newBench(t, program, c), withoutCuts(columns(choice, c)), 0)
			})
		}
	}
}

// withoutCuts leaves power cuts to the long run.
func withoutCuts(columns []faults.Fault) []faults.Fault {
	if tier.Long() {
		return columns
	}
	return slices.DeleteFunc(columns, isCut)
}

func isCut(f faults.Fault) bool { return strings.HasPrefix(f.Name, "power cut") }

// lessers are the systems to try: the one that gives least has all that the
// others lack.
func lessers() []faults.System {
	systems := faults.Systems()
	if !tier.Long() {
		systems = systems[len(systems)-1:]
	}
	return systems
}

// tryFaults tries all faults on a command. The smoke share is a SIGKILL for every
// second command and for each that puts a log aside, and for the others, and for
// those, a fault that can happen to them: the first from a column on.
func tryFaults(t *testing.T, bench *faults.Bench, columns []faults.Fault, row int) {
	t.Helper()
	if !tier.Smoke() {
		for _, f := range columns {
			tryFault(t, bench, f)
		}
		return
	}
	kill, others, both := columns[0], columns[1:], bench.Command().Intends
	if both || row%2 == 0 {
		tryFault(t, bench, kill)
	}
	for n := range others {
		if !both && row%2 == 0 || tryFault(t, bench, others[(row/2+n)%len(others)]) > 0 {
			return
		}
	}
	t.Error("no fault but SIGKILL can happen here: the smoke share tries too little")
}

// tryFault returns how many runs there were.
func tryFault(t *testing.T, bench *faults.Bench, f faults.Fault) int {
	t.Helper()
	r, err := bench.Try(f, share(bench.Command()))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d runs, %d violations %s", f.Name, r.Runs, len(r.Violations), r.Skipped)
	for _, v := range r.Violations {
		t.Errorf("%s: %s", f.Name, v)
	}
	return r.Runs
}

func newBench(t *testing.T, program string, c faults.Command) *faults.Bench {
	t.Helper()
	bench, err := faults.NewBench(program, place(t), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bench.Close)
	bench.AtStake = !tier.Smoke()
	if tier.Long() {
		bench.Twice, bench.Seed = true, tier.Seed()
	}
	return bench
}

// What reaches an old log after it was put aside comes into the session that
// followed. It takes a program that opens the log in the last instant, so all
// those calls are tried, and one must have met it.
func TestLateLinesAreCarried(t *testing.T) {
	tier.SkipSmoke(t, "it tries every call")
	program, fault, choice := faults.BuiltProgram(t), column(t, "log opened at the switch, written to after the run"), chosen(t)
	for _, c := range faults.Commands() {
		if !c.Intends || !tries(choice, c) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			// Whether the other program has opened the log before it is put
			// aside is for the system to decide, and on a loaded machine the
			// calls may be others than those that were seen: it is tried anew
			// until it has.
			const tries = 10
			for range tries {
				bench := newBench(t, program, c)
				r, err := bench.Try(fault, 0)
				if err != nil || len(r.Violations) > 0 {
					t.Fatal(err, r.Violations)
				}
				if bench.Carried > 0 {
					return
				}
			}
			t.Fatalf("no late line was carried in %d tries at every call", tries)
		})
	}
}

// A dry run changes nothing: not one mutating call.
func TestDryRunMakesNoMutatingCall(t *testing.T) {
	program, choice := faults.BuiltProgram(t), chosen(t)
	for _, c := range faults.Commands() {
		if !c.Sessions || c.Args[0] == "archive" && c.Args[1] != "restore" {
			continue // it has no dry run
		}
		if !tries(choice, c) || tier.Smoke() && !c.Intends {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got, err := newBench(t, program, c).DryRun()
			if err != nil || got.Exit != 0 || len(got.Calls) > 0 {
				t.Fatalf("exit %d, %v, calls %v\n%s", got.Exit, err, got.Calls, got.Output)
			}
		})
	}
}

// place is a new directory in memory, if there is room.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(scratch.Dir(), "faults-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "bench")
}
