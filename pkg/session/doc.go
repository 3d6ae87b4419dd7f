// Package session is the model that every runtime's conversation log is read
// into, and the list of things a store can do.
//
// A runtime (openclaw, pi, ...) owns stores; a store holds agents; an agent
// has sessions; a session is one log of messages. A [Store] lists sessions as
// [Ref] values and reads one as a stream of [Message] values. What else a store
// can do it declares once, in its [Capabilities]: a field that is nil is
// something that it cannot do.
//
// Reading derives everything from the bytes and keeps none of them: archives
// hold the raw log, and messages carry the line and byte range they came from.
package session
