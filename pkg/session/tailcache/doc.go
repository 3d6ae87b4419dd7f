// Package tailcache remembers between runs what the ends of session logs said, so
// that looking again at thousands of logs of which nothing has changed costs
// little more than listing them.
//
// A remembered figure is never a guess. It is used only if the log at its path
// is still the same file (device and inode), of the same size, with the same
// times of modification and of change (the second of which no program can set
// back). A log that was changed within the last seconds is not remembered at
// all: a clock may tick more slowly than a program writes. Where the file system
// cannot be trusted to change that time with every write
// (durable.ChangeTimeTells), the last bytes are compared as well. A cache that is damaged, that another build of the program
// has written, or that cannot be read is an empty one. Whoever deletes it
// loses nothing but time.
package tailcache
