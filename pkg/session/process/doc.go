// Package process says whether a process, named in a file of a runtime, still
// runs, and is not another one that got its number. It asks the system and
// touches no process.
package process
