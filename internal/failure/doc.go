// Package failure is how a run tells that it could not do what it was asked:
// an Error has a stable code for programs, a hint for people and an exit code.
// Explain turns any error of the packages below into these, and ExitCode is the
// only place that makes a number of one.
package failure
