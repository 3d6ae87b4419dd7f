// Package agent reads and changes the sessions of the runtime that is called
// only agent (docs/dev/formats.md, "agent"):
//
//	~/.agent/sessions/<ULID>/session.jsonl    the log, only ever appended to
//	                         metadata.json    model, times, source
//
// A log is a list of records with a recordType and a seq. A compaction is a
// record like any other: it carries a summary and the seq of the first message
// that stays, and what came before it stays on disk. So a session is made small
// by appending one, or it starts fresh and the old log goes to the archive.
package agent
