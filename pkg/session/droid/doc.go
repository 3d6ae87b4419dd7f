// Package droid reads the sessions of Factory's Droid, and never changes them.
//
//	~/.factory/sessions/<working directory>/<id>.jsonl  a session, or one of a sub-agent
//	~/.factory/sessions/<id>.jsonl                      a session of an earlier version
//
// A log is only appended to. Of its messages those that are for the model alone
// (visibility "llm_only") are Droid's own, and so are system reminders, though both stand
// in the person's name (docs/dev/formats.md, "droid").
package droid
