// Package adapters is where the adapters of all runtimes are tested, with the
// packages that they share (logfile, piformat, process, sqlitefile): one test program
// instead of one for each. It has no code.
//
// A file is named after its package (codex_tail_test.go), and so are its tests:
// `go test ./pkg/session/adapters -run Codex` runs those of one runtime. They use
// what a package exports, as the program does. A package whose tests need what it
// keeps to itself has them beside it: claude, openclaw, pi, tailcache.
package adapters
