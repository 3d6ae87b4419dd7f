// Package heads keeps the last signed head of a ledger in places outside of it, and
// holds the ledger against what they have.
//
// Who may write a ledger can write another one and sign it. A head that lies where he
// cannot write, or has not thought of writing, contradicts him: the ledger must still
// begin with the tree that the head is of. So a place is asked before it is given a
// newer head, and a head that the ledger does not continue is never replaced: it is what
// shows that the history was rewritten, or put back to an earlier day.
//
// A [Place] is a file, a git repository, a webhook, another host by ssh; object storage
// and PostgreSQL are made by whoever knows how to reach them.
package heads
