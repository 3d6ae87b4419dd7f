// Package logfile is the one place that touches the logs of runtimes whose
// sessions are files: a directory that leads nowhere else ([Dir]), and a change
// of one log in it ([Change]).
//
// A directory is opened so that nothing in it can lead anywhere else: names are
// looked at before they are opened, links are never followed, and a pipe or a
// device with the name of a session is never waited on.
//
// A change appends a record, puts a shorter log in the place of the old one,
// moves the log aside, puts an old one back, or disposes of it. The way is the
// same for all of them and is written once, in [Held]: the log is opened, a
// lease proves that nobody else has it open, it is compared with the snapshot
// that was archived, and only then it changes, in one step; then it is looked
// at again, because a program that renames a file to its place needs no open
// descriptor. Of a log that is replaced the inode is kept under another name,
// because a program that opened it a moment ago may still write to it. Every
// step is recognised as done by what is on disk, so that a run that was killed
// is finished by the next one.
//
// Where the system has no leases, the caller's quiet period has to do.
package logfile
