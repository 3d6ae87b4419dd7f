// Package work tells from the messages of a session what was done in it: which
// commands ran and how they ended, which files were read, written and edited,
// what was searched and fetched.
//
// Runtimes log this as calls of tools and their results. Each runtime has its
// own names for tools, for their arguments and for how a call ended; this
// package knows them (docs/dev/formats.md, "Tool calls"), and everything behind it
// sees an [Action], whatever the runtime.
//
// A [Reader] takes messages one by one and holds only the calls that wait for
// their results, so a session may be of any size.
package work
