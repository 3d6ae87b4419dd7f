// Package rowlog is what the logs of sessions that are rows of another program's
// database have in common: rows as lines of a log, always the same bytes for the
// same rows, and back again as they were.
//
//	{"type":"opencode.session","format":1,"row":{...}}  the row of the session, all columns
//	{"type":"opencode.session",...,"gone":true,"row":{"id":"..."}}   of one whose row is gone, or lies on a damaged page ("damaged")
//	{"type":"message","row":{...},"payload":{...}}      a row of a table that the type means; payload is a column of JSON as it is stored
//	{"type":"row","table":"todo","row":{...}}           a row of any other table
//	{"type":"children","sessions":[...]}                sessions that belong to this one
//	{"type":"lost","table":"messages"}                  rows of it may lie on damaged pages, where nobody can tell whose those are
//
// A value stands in a line so that it can be told from every other one: 1 is an
// integer, 1.0 a real, {"blob":"..."} a blob and {"text":"..."} text that is not
// UTF-8, both in base64.
//
// Columns are read by their names, all that there are: one that a later version
// adds is in the log, and one that an earlier version lacks is no error.
//
// A [Writer] has the database for itself: SQLite gives its lock to nobody while a
// program has the database open, and to no program while the writer has it.
package rowlog
