// Package replay rebuilds the context that a runtime would send to its model,
// from a session's log alone, and fits it to a purpose:
//
//	Read      the log as the runtime loads it: the active branch, the summary
//	          of the last compaction, what that kept, and what followed; only
//	          what followed a reset
//	Select    what matters for a question: the newest messages always, older
//	          turns if they are about it
//	Repair    calls without results and results without calls, so that no
//	          provider refuses it
//	Truncate  old tool results
//	Budget    the oldest turns, until it fits
//
// and writes it as text, as JSON that says why each message is there, or as
// the array that a provider's SDK takes. Each step takes and returns a list of
// messages and changes none of them in place. Nothing is redacted: this is what
// the model has seen. The rules are in docs/dev/decisions.md D20.
package replay
