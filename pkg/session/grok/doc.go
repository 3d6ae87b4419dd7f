// Package grok reads the sessions of Grok Build, and never changes them.
//
//	~/.grok/sessions/<working directory, percent-encoded>/<id>/updates.jsonl  a session, or one of a sub-agent
//	~/.grok/sessions/<working directory, percent-encoded>/<id>/summary.json   its title and directory
//	~/.grok/sessions/<...>/<id>/subagents/<id>/meta.json                      names a sub-agent of it
//
// updates.jsonl is only appended to, and has all that happened. chat_history.jsonl beside
// it is what the model gets next: Grok rewrites it, and what a compaction took out is in
// it no more (docs/dev/formats.md, "grok").
package grok
