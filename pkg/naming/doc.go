// Package naming says what a session is called. A runtime may have given it a title;
// else it is the first thing that a person asked in it, in one line. What runtimes
// and chat gateways say in a person's name is no title, nor is what was pasted, nor a
// secret: people's words are told apart as for facts. Only the beginning of a log is
// read, and its end where its runtime writes titles there.
package naming
