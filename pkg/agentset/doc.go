// Package agentset names agents. One person's project is worked on by several runtimes,
// and each calls its agent something else: a set is those that belong together, under
// the name that people know them by.
package agentset
