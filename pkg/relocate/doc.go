// Package relocate finds what was recorded under a path that has changed since:
// a home that was moved, or brought back from a backup to another place. What
// lies beside each other moves together, so where a directory was, and where it
// is now, tells about the others.
//
// Nothing is changed on disk: what was recorded is read as if it named the
// present places.
package relocate
