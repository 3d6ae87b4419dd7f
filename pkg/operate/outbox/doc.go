// Package outbox keeps events until whoever is to be told has heard of them.
//
// An event is on disk, synced, when [Outbox.Put] returns; so it is put before
// the action that it tells of is called done. It is delivered at least once:
// a run that is killed between a receiver's answer and the note of it tells the
// same event again, with the same id, by which the receiver drops it.
//
// One event is one file, named by its id:
//
//	<dir>/<id>.json            somebody is still to be told
//	<dir>/done/<id>.json       everybody was told, or nobody had asked
//
// Putting an id twice is one event. What can be derived again, from a receipt
// say, takes its id from what it is derived from ([DeriveID]); then a run that
// is killed at any call neither loses an event nor makes two of one.
package outbox
