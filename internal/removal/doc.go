// Package removal takes something away only after it was proved that it is
// elsewhere: clean, archives prune, the shortening of databases, undo, and giving
// up an earlier run. The plans are pkg/retention's; the proofs are here.
package removal
