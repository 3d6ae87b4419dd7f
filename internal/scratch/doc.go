// Package scratch says where a test puts files that it syncs over and over.
// Thousands of syncs on a disk would take most of the time, and what a sync is
// worth is tried on file systems of our own, with power cuts (internal/faults).
package scratch
