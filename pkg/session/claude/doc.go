// Package claude reads the sessions of Claude Code.
//
// The runtime keeps a directory for each directory that it was started in, and
// in it a log for each session: <uuid>.jsonl. A log is a tree of records that
// name their parent (uuid, parentUuid). What its sub-agents say is in logs of
// their own, <session>/subagents/agent-<id>.jsonl, in older versions
// agent-<id>.jsonl beside the session or, as records marked isSidechain, in
// the session's log itself. Outputs of tools that were too long lie in
// <session>/tool-results (docs/dev/formats.md, "claude").
//
// Three things make a log more than a list of messages. One answer of the
// model is several records, one for each block, with the same message id and
// its usage repeated. Records that say nothing (notes, progress
// of the runtime) stand between messages in the tree, and parallel tool
// results hang each on its own call, so the path from the last record to the
// root misses some of them. And a compaction is a boundary without a parent,
// a summary after it, and a stretch of messages before it that stays.
//
// What a person typed stands in history.jsonl too, and stays there when a log is
// deleted. The prompts of a session that has no log any more are listed as
// [session.KindPrompts].
//
// The runtime owns its files: nothing here changes them. It also deletes them,
// 30 days after their last change unless its settings say otherwise; the refs
// of [Store.List] say when.
package claude
