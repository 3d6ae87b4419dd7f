// Package chunk cuts a conversation into overlapping pieces of text that fit
// an embedding model, and remembers for each of them which messages, lines
// and bytes of the log it came from.
//
// Messages with text are taken four at a time; such a block is written as
//
//	[Human]: first text
//
//	[Agent]: second text
//
// and so on, each message behind its label and a blank line between messages.
// A block of at most 3,500 code points is one chunk. A longer one is read
// through a window of 3,500 code points that moves by 3,300, so that two
// neighbours share 200 (docs/dev/decisions.md D5); one that begins inside a message
// names its label beside its text. The window stops when it has
// reached the end of the block: a last chunk that its predecessor already
// contains is not made.
//
// Lengths are code points, as in Python, not bytes, and no code point is ever
// split. Text that is not UTF-8 is cut all the same: each byte that belongs to
// no sequence counts as one code point.
//
// Everything streams through one window: memory does not grow with a message,
// and no chunk costs an allocation.
package chunk
