// Package qwen reads and trims the sessions of Qwen Code.
//
//	~/.qwen/projects/<working directory>/chats/<session>.jsonl                a session
//	~/.qwen/projects/<working directory>/chats/archive/<session>.jsonl        one that was put away
//	~/.qwen/projects/<working directory>/subagents/<session>/agent-<id>.jsonl  what its sub-agents did
//
// A record has the envelope of Claude Code (uuid, parentUuid, type) around
// content as Gemini has it (package partsformat). A log is a tree whose last
// record is where Qwen goes on. A compression is a record that has the whole
// context from then on (compressedHistory); what was before it stays in the log.
//
// Most of a log is never sent: the result of a tool stands there a second and a
// third time for the screen, and what was before the last compression. That can
// be taken out ([Store.PlanTrim]); a running Qwen holds its log open, so a lease
// tells that it runs (docs/dev/formats.md, "qwen").
package qwen
