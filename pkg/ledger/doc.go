// Package ledger keeps the history of what was done, so that it can be checked: one
// append-only log of facts (an archive was made, a session was switched, text was
// forgotten), in a directory of its own, apart from what the facts are about.
//
// A fact is a [Leaf], one line of JSON. The leaves are the leaves of a Merkle tree as
// Certificate Transparency has it (RFC 6962, golang.org/x/mod/sumdb/tlog): its root, 32
// bytes, stands for every leaf and their order. A signed root is a [Head]. Whoever has
// one head can tell whether a later tree begins with that one ([Log.TreeAt]). So a history
// from which a leaf was taken, or in which one was changed, contradicts every head that
// was given away before.
//
// The directory:
//
//	leaves-000000.jsonl   the leaves, 4096 a file; the truth
//	tile-0 tile-1 ...     hashes of the leaves, of 256 leaves each, of 65536 each, ...
//	checkpoint            the last head, a signed note
//	key                   what signs heads; made when it is first needed, mode 0600
//	lock                  who is appending
//
// A leaf is in the ledger once its line is complete and synced: that is one sync for
// all leaves of an [Log.Append]. The hashes can be made again from the leaves, so they
// are synced with the last leaf of each file only, and whoever appends makes again what
// is missing. A line without an end is of a run that was killed; the next one cuts it off.
//
// A leaf that is in the ledger already is not added again. So facts carry the time at
// which they happened, and a run that completes what a killed one began appends all of
// its facts, without asking which of them are there.
//
// Who may write the directory can write another history, and sign it. The ledger proves
// something to somebody who has a head that is kept elsewhere.
package ledger
