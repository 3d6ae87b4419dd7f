// Package copilot reads the sessions of GitHub Copilot CLI, and takes out of
// their logs what the program does not need to go on with them.
//
// A session is a directory session-state/<id> with an event log, events.jsonl,
// and what belongs to it: checkpoints, a database, a plan. The program appends to
// the log one line at a time and keeps nothing open but its lock, inuse.<pid>.lock
// with inuse.<pid>.hold, which it holds locked while it runs. What its own
// compaction has summed up stays in the log, and so does a debug record of each
// compaction with the whole request: see docs/dev/formats.md, "copilot".
//
// Sessions that lie flat, session-state/<id>.jsonl, are of older versions. Those
// of history-session-state are of still older ones, and not read.
package copilot
