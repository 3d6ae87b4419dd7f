// Package sqlitefile reads SQLite databases that belong to other programs, and
// leaves no trace of that.
//
// SQLite makes files beside a database that it opens, even one that it only
// reads, and leaves them there. It makes none if it is told that the database
// cannot change (immutable=1); but then it does not see what is still in the
// write-ahead log, without any error: 25 of 32 rows, measured on a live store,
// and all of them where a program never takes its log in when it ends
// (OpenCode). So a database without a log is read where it lies, as immutable,
// and SQLite gets it as an open file, not as a path that may lead elsewhere by
// then. One with a log is copied, log and all, into a private directory, and the copy
// is read. While it is copied its program may move pages from the log into the
// database: sizes, times and the log's header are compared before and after, and
// the copy is made again if they tell of that. One that is too large to be
// copied is read where it lies, together with its log, as one file in which the
// pages of the log lie over those of the database; when the program changes
// either meanwhile, the session is busy. All are opened from the directory of the
// store that is held open during the run, and no link is followed.
//
// Stores that keep sessions in such databases list them with a [Listing], and lend
// their logs with [Sessions].
package sqlitefile
