package tier

import "os"

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
