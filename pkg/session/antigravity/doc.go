// Package antigravity reads the conversations of Google's Antigravity, of its program in
// a terminal and of its editors, and never changes them.
//
//	~/.gemini/antigravity*/brain/<id>/.system_generated/logs/transcript_full.jsonl  a conversation
//	~/.gemini/antigravity*/brain/<id>/.system_generated/logs/transcript.jsonl       the same with long texts cut
//	~/.gemini/antigravity*/brain/<id>/.system_generated/logs/overview.txt           of earlier versions
//	~/.gemini/antigravity*/history.jsonl                                            what was typed, and where
//
// A transcript has a line for each step, not always in the order of the steps. Antigravity
// goes on from a database (conversations/<id>.db), which is not read. The form is that of
// public readers and measurements; it was not tried with the program (docs/dev/formats.md,
// "antigravity").
package antigravity
