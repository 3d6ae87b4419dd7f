// Package yarnnn reads the sessions of YARNNN, which live in PostgreSQL, and
// writes their summaries (docs/dev/formats.md, "yarnnn"):
//
//	chat_sessions      one row a session; summary is what this package writes
//	session_messages   the messages, which are never changed or deleted
//
// A session is summarised when nothing has been said in it for four hours and
// a person has said at least five things. The time that counts is that of the
// last message: updated_at moves with every change of the row, a summary
// included. How far a summary reaches is noted in
// context_metadata.summary_through, so that a session which went on gets a new
// one; a summary without that note is the program's own and stays.
//
// A session's log, for the archive and memory, is its row and its messages as
// JSON lines, without the columns that a summary changes.
package yarnnn
