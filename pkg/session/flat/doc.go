// Package flat reads a directory in which logs of a runtime lie directly, and not in
// directories as the runtime itself has them: a copy that somebody has made, what was
// taken out of another machine, a directory that a runtime was told to write to. They
// are archived and remembered like others and never changed, since no runtime goes on
// with a session there. A log that is gone can be put back.
package flat
