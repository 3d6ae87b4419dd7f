// Package e2e has the tests that run the built program from end to end in more
// than one scenario of the command line: killed or watched at its calls beside
// a gateway, on every malformed log, on hostile names, with all runtimes in one
// home, and with real servers. What one scenario can show is a script in
// testdata/script; what is tried at every call of every command is in
// internal/faults.
package e2e
