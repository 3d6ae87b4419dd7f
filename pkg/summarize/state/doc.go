// Package state tells from the messages of a session where its work stands: what
// was asked last, what the agent said last, which of its plan is open, what it did
// last and how that ended, which files it has in hand, what failed and was not put
// right, and which question nobody has answered.
//
// Nothing of it is guessed from the words that people use. Each is a matter of
// position (the last message of a person), of the tools that were called (the last
// list that the agent wrote with its plan tool), or of how a call ended. All of it is
// quoted or counted, and names where it stands, so a reader can look.
//
// A [Reader] takes messages one by one. What it holds is bounded, so a log may be of
// any size.
package state
