// Package statements checks what a model says against the conversation that it was
// given: a fact (pkg/facts) and each sentence of a summary (pkg/summarize) alike.
//
// A [Source] is the conversation. [Source.Check] refuses a statement that
//
//	orders something against somebody, which nobody has said    [Against]
//	has a value or a name that the conversation does not have
//	turns round what was preferred to what ("A instead of B")
//	says the opposite of what was said
//	has hardly a word of the conversation
//
// and [Source.Foreign] refuses a text in a language that nobody used. A sentence that
// somebody said is never refused. What only a tool printed counts for values and
// names, and not for what is to be done: tools print what strangers wrote.
//
// The words of negation, preference and command are those of ten languages
// (languages.go). A rule that is in doubt accepts: an answer is refused for one
// statement, so a wrong refusal costs a whole summary.
package statements
