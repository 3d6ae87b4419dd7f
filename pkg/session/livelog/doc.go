// Package livelog makes the two changes that a live log can take without the
// session starting fresh: a record is appended to it, or a shorter log takes
// its place. It is the last step of a compaction that keeps a tail, and works
// the same for every runtime whose logs are files.
//
// Both follow the protocol of research/reliability.md section A5: a lease
// proves that nobody else has the log open, the log is compared with the
// snapshot that was archived, and only then it changes, in one step. Of a log
// that is replaced the inode is kept under another name, because a program
// that opened it a moment ago may still write to it. Every step is recognised
// as done by what is on disk, so that a run that was killed is finished by the
// next one.
//
// Where the system has no leases the caller's quiet period has to do.
package livelog
