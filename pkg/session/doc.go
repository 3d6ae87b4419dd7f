// Package session is the model that every runtime's conversation log is read
// into, and the list of things a store can do.
//
// A runtime (openclaw, pi, ...) owns stores; a store holds agents; an agent
// has sessions; a session is one log of messages. A [Store] lists sessions as
// [Ref] values and reads one as a stream of [Message] values. What may be
// changed is a capability of the store, found by type assertion ([Rotator]),
// so that a store without it cannot be asked.
//
// Reading derives everything from the bytes and keeps none of them: archives
// hold the raw log, and messages carry the line and byte range they came from.
package session
