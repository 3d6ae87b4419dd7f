// Package codex reads the rollouts of the Codex CLI.
//
// A thread is one rollout: sessions/YYYY/MM/DD/rollout-<local time>-<id>.jsonl
// below $CODEX_HOME, or archived_sessions/ once it was archived; a rollout that
// was closed long ago may be compressed (.jsonl.zst). The agent of a thread is
// the directory it works in, written as pi writes it: /home/lea/api is
// "home-lea-api". A thread that names none belongs to the agent "codex".
//
// Since September 2025 a line is {timestamp, type, payload}; before that it is
// the bare item. What is said stands in a rollout up to three times: as an item
// of the model's context (response_item), as an event for the screen
// (event_msg user_message and agent_message) and, since 0.169, as an
// item_completed event. A scan takes one of the three for the whole rollout:
// the items if they say anything, which they do in every rollout that Codex can
// resume, else the completed items, else the events. Tool calls and their
// results are taken from the items alone. A compaction repeats older messages
// (replacement_history) and its summary (an assistant's item marked
// compaction_output): neither is taken twice.
//
// Turns that were rolled back are abandoned, not lost. A rollout that was
// forked from another begins with a copy of it; only the usage can be told
// apart ([Usage]).
//
// Nobody but Codex changes a rollout: it keeps its log open while it runs, and
// knows its threads by a database of its own. So a session is archived and
// remembered, and left as it is (docs/dev/formats.md, "codex").
package codex
