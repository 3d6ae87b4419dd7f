// Package summarize turns a conversation into a summary.
//
// [Extractive] needs nothing: no model, no network, and it gives the same words
// for the same log. It writes no sentence of its own about the work: everything is
// quoted or counted, with its line, in any language. First comes where the work
// stands (package state), then what people set, answered and said, the last messages
// and steps, files and commands, then whole sentences that are probably needed next,
// by how late, how often and by whom their names were used, and at the end names.
// It is made for a length, and for what stays beside it.
//
// [Written] lets a model write the summary, through a [Client] for one of four
// protocols. The conversation goes to it as flat text between tags, in stages
// if it is longer than the model's window. Its answer is data too: it is
// checked against the request and the conversation, and if it fails the
// extractive summary takes its place and says so. What the answer does not name
// is listed below it.
package summarize
