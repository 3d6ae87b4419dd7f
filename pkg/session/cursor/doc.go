// Package cursor reads the transcripts of Cursor's agent, in the editor and as a
// program in a terminal.
//
//	~/.cursor/projects/<working directory>/agent-transcripts/<id>/<id>.jsonl            a session
//	~/.cursor/projects/<working directory>/agent-transcripts/<id>/subagents/<id>.jsonl  what its sub-agents did
//	~/.cursor/projects/<working directory>/agent-transcripts/<id>.jsonl                 a session of an earlier version
//
// A transcript is what Cursor writes for people and hooks out of the store that it
// goes on from: it has what was said and which tools were called, and not what they
// returned. Transcripts are archived and remembered, and nothing here is ever changed.
//
// The form is that of the code that writes them, in a package that Cursor's makers
// publish; it was not tried with the program (docs/dev/formats.md, "cursor").
package cursor
