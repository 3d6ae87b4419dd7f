// Package summarize turns a conversation into a summary.
//
// [Extractive] needs nothing: no model, no network, and it gives the same words
// for the same log. It writes no sentence of its own about the work. It picks
// what was said and done, in a fixed order of sections, and says in which line
// of the log each item is:
//
//	goals         what people asked for: the first task and the later ones
//	constraints   what people said must never be, or always
//	decisions     "we will use", "instead of", by anybody
//	findings      "root cause", "fixed", at the end of a turn
//	open          questions that are called open, or that nobody answered
//	next steps    what is called next, newest first
//	files         changed and read, from the calls of file tools that worked
//	commands      with their exit codes
//	errors        as they were printed
//	earlier       what a compaction before this one had summed up
//	last          the last things that were said
//
// Messages stream through. What may be an item is scored by cue words and
// kept in shelves of fixed size, so memory does not grow with the log. Only
// the active branch counts. What looks like a secret is not repeated.
//
// [Written] lets a model write the summary, through a [Client] for one of four
// protocols. The conversation goes to it as flat text between tags, in stages
// if it is longer than the model's window. Its answer is data too: it is
// checked against the request and the conversation, and if it fails the
// extractive summary takes its place and says so. What the answer does not name
// is listed below it.
package summarize
