// Package pi finds, reads and rotates the sessions of the pi coding agent.
//
//	~/.pi/agent/sessions/--<working directory, / as ->--/<time>_<uuid>.jsonl
//
// There is no index: pi starts a new file unless it is told to continue, and
// "pi -c" continues the file of the directory that was written last and has a
// header. An agent here is such a directory. Records: package piformat.
//
// pi appends with one open, write and close for each record and takes no lock,
// so a session is busy by what its log shows ([Store.Busy]). A log that is
// renamed while pi runs is made again without its header, a log without a header
// is overwritten when it is opened by name, and where the newest log of a
// directory goes, "pi -c" continues the one before. So a rotation happens only
// when nobody has the file open and the last turn is answered, and it puts the
// log of a session in which nothing has been said in the place of the one that
// "pi -c" continues (docs/dev/formats.md, "pi").
package pi
