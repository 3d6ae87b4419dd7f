// Package macstats reads and changes the sessions of mac-stats
// (docs/dev/formats.md, "macstats"):
//
//	~/.mac-stats/session/session-memory-<id>-<time>-<topic>.md   a conversation
//	~/.mac-stats/agents/memory.md                                lessons for every agent
//	~/.mac-stats/agents/agent-<id>/memory.md                     lessons for one
//
// A session is Markdown: "## User" and "## Assistant" open blocks, nothing
// else. A compaction takes what was learned to memory.md and then clears a
// session that nobody has used for half an hour, or puts a summary in the
// place of one that is in use.
//
// The program keeps the conversation in memory and writes the whole file again
// at every message, so what a running program saves after a change takes the
// file's place again. Nothing is lost by that; the change holds from the next
// start on.
package macstats
