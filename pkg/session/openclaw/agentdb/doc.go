// Package agentdb reads openclaw-agent.sqlite, the database in which OpenClaw
// keeps an agent's sessions from 2026.8.1 on. It is the gateway's: nothing of
// it is changed, and nothing is left beside it.
//
//	schema_meta                        which version of the schema this is
//	session_nodes                      one row a routing key: its current session, and its entry as sessions.json had it
//	session_windows                    one row a session: the key that it is or was of
//	transcript_events                  the records: event_json, or event_zstd for large ones
//	session_transcript_cold_archives   sessions whose records were moved away
//	session_transcript_archives        copies of sessions that were deleted
//
// A row of transcript_events is the line that a log of the file era would have.
// A [Log] puts the rows of a session together as such a log, in the order of
// seq, always the same bytes: packages that read logs need not know that there
// is no file. A row of type "reset" starts a new generation inside a session
// (docs/dev/formats.md, "openclaw database").
//
// Package sqlitefile opens the database without a trace.
package agentdb
