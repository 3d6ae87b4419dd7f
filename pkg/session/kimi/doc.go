// Package kimi reads the sessions of Kimi Code, and of kimi-cli before it, and never
// changes them.
//
//	~/.kimi-code/sessions/<directory>/<session>/agents/main/wire.jsonl  a session
//	~/.kimi-code/sessions/<directory>/<session>/agents/<id>/wire.jsonl  what a sub-agent did
//	~/.kimi/sessions/<directory>/<session>/context.jsonl                a session of kimi-cli
//	~/.kimi/sessions/<directory>/<session>/context_<n>.jsonl            its context before a compaction
//
// Kimi Code logs every message up to three times. What is read are the records of the
// context (docs/dev/formats.md, "kimi").
package kimi
