package session

import (
	"fmt"
	"os"
	"time"
)

// RecentChange is how long after a change a listing shows a session as busy.
// Whether it may be changed is asked for with [Rotator].Busy and a quiet
// period of the caller's.
const RecentChange = time.Minute

// CheckQuiet returns a [*BusyError] when a log was changed less than quiet
// before or after now: a clock that is a little off must not make a busy
// session idle.
func CheckQuiet(path string, info os.FileInfo, now time.Time, quiet time.Duration) error {
	age := now.Sub(info.ModTime())
	if age.Abs() >= quiet {
		return nil
	}
	when := "changed " + inWords(age) + " ago"
	if age < 0 {
		when = "changed " + inWords(-age) + " in the future"
	}
	return &BusyError{Path: path, Reason: fmt.Sprintf("%s; it is left alone until it has been quiet for %s", when, inWords(quiet))}
}

// inWords is a duration in whole seconds, or in milliseconds if it is short.
func inWords(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// CheckWhole returns a [*BusyError] when a log is empty or shorter than it was
// when it was listed. OpenClaw 2026.7.1 truncates a transcript and writes it
// again in place at the end of every turn, so such a file is not damaged but
// about to be whole again (research/real-runtimes.md section 3).
func CheckWhole(ref Ref, info os.FileInfo) error {
	switch {
	case info.Size() == 0:
		return &BusyError{Path: ref.Path, Reason: "it is empty: it may be being rewritten", Change: ChangeShorter}
	case info.Size() < ref.Bytes:
		return &BusyError{Path: ref.Path, Reason: fmt.Sprintf("it was %d bytes long and is %d now: it may be being rewritten", ref.Bytes, info.Size()), Change: ChangeShorter}
	}
	return nil
}

// CheckAnswered returns a [*BusyError] when the end of a log shows that a turn
// is going on: its last line is torn, or its last message waits for an answer
// or a tool.
func CheckAnswered(path string, t Tail) error {
	switch {
	case t.Torn:
		return &BusyError{Path: path, Reason: "its last line is not finished"}
	case !t.Answered:
		return &BusyError{Path: path, Reason: fmt.Sprintf("its last turn is not answered yet (the last message is of the %s)", inPlainWords(t.LastRole))}
	}
	return nil
}

func inPlainWords(r Role) string {
	switch r {
	case RoleToolResult:
		return "tool"
	case RoleInjected, RoleSummary, RoleShell:
		return "runtime"
	}
	return r.String()
}
