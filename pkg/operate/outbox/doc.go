// Package outbox keeps events until whoever is to be told has heard of them.
//
// An event is on disk, synced, when [Outbox.Put] returns; so it is put before
// the action that it tells of is called done. It is delivered at least once:
// a run that is killed between a receiver's answer and the note of it tells the
// same event again, with the same id, by which the receiver drops it.
//
// One event is one file, named by its id. It holds the event and, for each
// target that is to be told, how far that is ([Delivery]):
//
//	<dir>/<id>.json            somebody is still to be told
//	<dir>/done/<id>.json       everybody was told, or nobody had asked
//	<dir>/dead/<id>.json       a target was tried for a day: a dead letter
//	<dir>/set-aside/<name>     a file that is no event, moved out of the way
//	<dir>/targets.json         targets that do not answer, and when to ask again
//	<dir>/lock                 one process at a time delivers
//	<dir>/receipts.told        of which receipts an event was made
//
// Putting an id twice is one event. What can be derived again, from a receipt
// say, takes its id from what it is derived from ([DeriveID]); then a run that
// is killed at any call neither loses an event nor makes two of one.
//
// A file changes only by [Outbox.Deliver] and [Outbox.Retry], under the lock.
// Whoever puts needs none: a deliverer looks for new files until there are no
// more before it lets go of the lock.
//
// What went wrong is of two kinds. A receiver that answers, and refuses, is
// tried again with that event, and others are sent meanwhile. One that does not
// answer is left alone with all of them ([Failure].Unreachable): one event is
// the probe, the rest waits until it arrives.
//
// The pauses between tries are a function of their number ([pause]), because
// tries are made by different processes: a library that waits in a loop has
// nothing to hold on to. Times are compared so that a clock that was set back,
// or was wrong for a while, makes a try early and never puts it off for longer
// than the longest pause.
package outbox
