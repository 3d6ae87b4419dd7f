package tier

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// skipper is a test or a benchmark.
type skipper interface {
	Helper()
	Skip(reason ...any)
}

// Long reports whether everything is to be tried: SESSCTL_LONG is set.
func Long() bool { return os.Getenv("SESSCTL_LONG") != "" }

// Smoke reports whether a share is enough: neither SESSCTL_LONG nor
// SESSCTL_FAULTS is set.
func Smoke() bool { return !Long() && os.Getenv("SESSCTL_FAULTS") == "" }

// SkipSmoke skips a test in the smoke share. The reason says what it takes: "it
// sends 11 MB".
func SkipSmoke(t skipper, reason string) {
	t.Helper()
	if Smoke() {
		t.Skip(reason + ": SESSCTL_FAULTS=1 runs it")
	}
}

// Rule skips a test of what the repository says (how sources are laid out, what a
// page shows), not of what the program does, unless SESSCTL_RULES, SESSCTL_FAULTS or
// SESSCTL_LONG is set. make test-rules runs these.
func Rule(t skipper) {
	t.Helper()
	if Smoke() && os.Getenv("SESSCTL_RULES") == "" {
		t.Skip("it holds a rule of the repository: make test-rules runs it")
	}
}

// SkipUnlessLong skips a test unless everything is to be tried.
func SkipUnlessLong(t skipper, reason string) {
	t.Helper()
	if !Long() {
		t.Skip(reason + ": SESSCTL_LONG=1 runs it")
	}
}

// Changed returns the files, below the module, that SESSCTL_CHANGED lists: the
// variable names a file with one a line. Without it nothing is known of a change.
func Changed() (files []string, known bool, err error) {
	list := os.Getenv("SESSCTL_CHANGED")
	if list == "" {
		return nil, false, nil
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, false, fmt.Errorf("read what has changed (SESSCTL_CHANGED): %w", err)
	}
	return strings.Fields(string(text)), true, nil
}

// Calls is at how many calls a nightly run lets each fault happen to each command:
// SESSCTL_CALLS, 3 without it, and 0 for "all".
func Calls() int {
	const usual = 3
	switch calls := os.Getenv("SESSCTL_CALLS"); calls {
	case "":
		return usual
	case "all":
		return 0
	default:
		n, err := strconv.Atoi(calls)
		if err != nil || n < 1 {
			return usual
		}
		return n
	}
}

// Seed decides what is drawn for a change: SESSCTL_SEED, a commit.
func Seed() string { return os.Getenv("SESSCTL_SEED") }
