// Package openclaw finds, reads and rotates the sessions of OpenClaw as it
// keeps them in files (up to 2026.7.1), and recognises, but never touches,
// the database that took their place (from 2026.8.1).
//
//	<state dir>/agents/<agent>/sessions/
//	    sessions.json                        the index: routing key -> entry
//	    <session id>.jsonl                   a live transcript (records: package piformat)
//	    <session id>-topic-<thread>.jsonl    one thread of a chat
//	    <time>_<session id>.jsonl            forked from another session
//	    <log>.jsonl.lock                     held while a record is written
//	    <log>.jsonl.reset.<time> ...         closed logs, backups, checkpoints
//	<state dir>/agents/<agent>/agent/openclaw-agent.sqlite
//
// The index belongs to the runtime, which rewrites it several times a turn and
// takes an index that it cannot read for an empty one. So the index is only
// ever replaced as a whole, only the text of the entries that change is
// touched, and every other byte stays what it was ([Store.Rotate]).
//
// Nothing tells from outside that a gateway is idle: 2026.7.1 keeps no file
// open, gives its lock back while the model thinks, and ignores the locks of
// others. What can be seen is put together in [Store.Busy]: the lock, a quiet
// period, and whether the last turn is answered. A transcript that is live is
// read and renamed, never touched, linked or written (docs/dev/formats.md,
// "openclaw" and "openclaw database").
package openclaw
