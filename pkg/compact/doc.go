// Package compact decides what to do about a session that has grown too
// large, and does it without ever being the only holder of a line.
//
// A [Plan] is data: what a session weighs, what would be done and why not.
// [Compactor.Execute] carries a plan out, in an order in which a stop anywhere
// loses nothing (docs/dev/decisions.md D14):
//
//	snapshot   hash the log's bytes; remember its inode, size and times
//	archive    a verified copy of exactly those bytes, durable, read back
//	remember   chunks (with vectors, if the embedder is built in) and the summary
//	           of the archived bytes, one transaction
//	embed      vectors for what has none yet; an outage leaves text, not holes
//	intent     the whole rotation as one durable journal entry
//	switch     the runtime starts fresh; the old inode is kept, never unlinked
//	receipt    the proof of what was done
//
// [Compactor.Settle] runs first in every run: it finishes what an earlier one
// began, picks up bytes that reached the old log after its snapshot, and carries
// them into the session that followed.
//
// The package names what it needs of archive, memory and embedding as small
// interfaces of its own; the command line wires them once.
package compact
