// Package sessiondb knows the tables in which OpenCode, and Kilo, which is made
// from it, keep sessions.
//
//	session          one row a session; parent_id names the session whose agent started it
//	message          one row a message: who speaks, by which model, what it cost (data, JSON)
//	part             what a message is made of: text, reasoning, calls of tools with their output (data, JSON)
//	event            the journal: the whole new state of an object for every change of it
//	event_sequence   the number of the last event of a session
//	project          the work tree that a session belongs to
//
// Other tables hold rows of a session too: those with a column session_id (todo), and
// those that foreign keys tie to it, to its messages or to such rows (Kilo's boards,
// and what newer versions add). session_share holds a secret and is left alone, and so
// is everything with an account or a credential.
//
// A session's log is put together from its rows, always the same bytes for the
// same rows:
//
//	{"type":"opencode.session","format":1,"row":{...}}                the row of the session, all columns
//	{"type":"row","table":"project","row":{...}}                      what else it needs and has
//	{"type":"message","row":{"id":...},"payload":{...}}               a message; payload is its data as it is stored
//	{"type":"part","row":{"id":...,"message_id":...},"payload":{...}} its parts, in their order
//	{"type":"children","sessions":["ses_..."]}                        the sessions that its agents have begun
//	{"type":"journal","events":340,"last_seq":339,"last_id":"..."}    that there is a journal, not what is in it
//
// The journal itself has a log of its own, one event a line ([Database.Journal]). Rows go
// back from these lines as they were, byte for byte ([ReadRow], [Writer.Insert]).
//
// # Changing it
//
// A [Writer] has the database for itself: SQLite gives its lock to nobody while
// a program has the database open, and to no program while the writer has it.
// What is removed is read again under that lock, in the transaction that removes
// it, and must have the hash of its archive: a row that came since makes it busy.
// A transaction that a killed run leaves is taken back by whoever opens the
// database next; a VACUUM too.
package sessiondb
