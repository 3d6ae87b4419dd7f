// Package facts finds what a conversation says that is worth knowing in the
// next one: who the person is, what they prefer and decided, whom to write to.
//
// Most of what other programs store as facts is junk: prompts told again,
// people who were made up, memories remembered once more (docs/decisions.md
// D19). So a fact here is nothing without its source: the line of the log, and
// the words in it. Two extractors make facts:
//
//	Offline   rules for what is said outright ("my name is", "I prefer",
//	          "we decided"); no model, the same facts for the same log
//	Asked     a model, whose every fact is checked against the conversation and
//	          dropped alone if it does not hold
//
// Both read a [Window], the last things that people and the agent said; what
// tools printed, pasted documents, code, quotations and what a runtime put in are
// not in it. Beside them a window has what calls of tools that succeeded prove of
// the environment: a host that answered, a version that a program printed of
// itself. [Merge] then compares new facts with the known ones: what is known is
// not stored again, and what has changed supersedes the old fact and never
// deletes it.
package facts
