// Package jobs keeps what a server was asked to do until it is done.
//
// A [Job] is a file, written and synced before anybody is told that it was
// accepted, so that it outlives the server: one that waited when the server
// ended waits again at the next start, one that was being worked on is begun
// again once, and then told to be interrupted. What a job does has to bear being
// begun twice; a compaction does, by its own journal.
//
// A [Registry] has the jobs of one directory to itself and works on them one at
// a time, in the order in which they came. What is asked for again while it
// waits or is worked on is the same job. Finished jobs are kept up to a number.
//
// A [Clock] says when a schedule is due. It reckons in the wall-clock time of
// its zone and remembers the last slot that was begun, so that a clock that is
// set back, by a person or by the end of summer time, begins no slot twice, and
// slots that were missed are caught up with once.
package jobs
