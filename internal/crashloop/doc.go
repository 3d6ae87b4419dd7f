// Package crashloop runs a program and stops it before every call that would
// change a file, one run a call: to kill it there, to let the call fail, to
// cut a write short, or to let somebody else write in between.
//
// A program that survives all of it, and whose next run completes what the
// first began, loses nothing to a crash, a full disk, a dying disk or a busy
// neighbour. Calls are counted by one counter over all threads and children,
// so that "the Nth call" means the same in every run of a program that works
// in a fixed order. strace's injection counts per thread and per system call
// and cannot do this (docs/dev/decisions.md D15).
//
// It works by ptrace and exists on Linux for amd64 only. It sees system calls,
// not stores into shared memory.
package crashloop
