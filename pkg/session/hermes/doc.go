// Package hermes reads the sessions of Hermes Agent.
//
//	<home>/state.db                            the sessions (package statedb)
//	<home>/profiles/<name>/state.db            those of a profile: a store of its own
//	<home>/sessions/request_dump_<session>_*   requests that failed, whole
//	<home>/sessions/<session>.json, .jsonl     transcripts of earlier versions
//	<home>/config.yaml                         settings: whether and when the program prunes
//
// The program deletes what it prunes for good: rows, dumps and transcripts. What
// every field means is in docs/dev/formats.md, "hermes".
package hermes
