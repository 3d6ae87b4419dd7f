// Package gemini reads the chats of the Gemini CLI.
//
// A chat is tmp/<project>/chats/session-<minute>-<id>.jsonl below ~/.gemini
// (or $GEMINI_CLI_HOME/.gemini), chats of sub-agents lie one directory deeper,
// and older ones are one JSON document, session-*.json. The agent is the
// project: the name of its directory, which is a short name or, in older
// versions, a hash.
//
// A JSON Lines chat is a log of changes, not of messages:
//
//	{"sessionId":…}                 what the chat is; again at every resume
//	{"id":…,"type":"user",…}        a message; the same id again replaces it
//	{"$set":{"messages":[…]}}       the whole history anew: a resume, a compression
//	{"$rewindTo":id}                that message and all after it are taken back
//
// A scan says each thing once: of a message that grew, its last form; of a
// history that is set anew, only what was not said before. A tool's result,
// which stands in the model's message, in a message of the user and in every
// history, is one message. What was taken back is abandoned, not lost. A
// compression's <state_snapshot> is the summary of a compaction; what was
// before it stays.
//
// Gemini reopens the file for each record and holds no lock. It deletes chats
// after 30 days by default, so a chat is archived and remembered, and never
// changed (docs/dev/formats.md, "gemini").
package gemini
