// Package retention deletes files without losing them.
//
// A file that is to be deleted is first moved into a trash beside it. It stays
// there for a grace period (seven days unless told otherwise), in which it can
// be restored, and is removed afterwards. Of each file in the trash there is a
// record, one small JSON file, which is durable before the file is moved, so
// that a run that is killed anywhere leaves nothing that nobody knows of:
// [Trash.Recover] tells by what is on disk how far it came.
//
// [Clean] deletes old sessions and [Prune] old archives. Both go the same way:
// Recover finishes what a killed run began, Plan decides and is data, Execute
// acts on it, Undelete brings back. What goes is in an archive that was read
// back, or somewhere else as well, before it is moved.
//
// Everything that is moved, brought back or removed gets a line in the audit
// log, which is only ever appended to: when, what, why, and where its bytes
// still are. The rules are in docs/dev/decisions.md D16.
package retention
