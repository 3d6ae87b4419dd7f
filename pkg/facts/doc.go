// Package facts finds what a conversation says that is worth knowing in the
// next one: who the person is, what they want kept, which versions the
// work is done with.
//
// Most of what other programs store as facts is junk: prompts told again,
// people who were made up, memories remembered once more (docs/dev/decisions.md
// D19). So a fact here is nothing without its source: the line of the log, and
// the words in it. There are three sources, and no grammar of sentences:
//
//	a person   who says outright what is to be kept: "remember that ...",
//	           "always ...", "from now on ...", "my name is ..."
//	a call     that succeeded and proves something: a version that a program
//	           printed of itself, an address of the repository
//	a model    whose every fact is checked against the conversation and dropped
//	           alone if it does not hold
//
// All read a [Window], the last things that people and the agent said; what tools
// printed, pasted documents, code, quotations and what a runtime put in are not in
// it. [Merge] then compares new facts with the known ones: what is known is not
// stored again, and what has changed supersedes the old fact and never deletes it.
package facts
