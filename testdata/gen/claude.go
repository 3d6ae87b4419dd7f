package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// claudeStore writes one project of Claude Code: a session with everything
// that such a log can hold, a sub-agent of it and a long output.
func claudeStore(files map[string][]byte) error {
	c := newClaudeLog(67, time.Date(2026, 5, 18, 7, 30, 0, 0, time.UTC))
	c.morning()
	c.compacted()
	c.afternoon()
	project := "claude/.claude/projects/-work-bakery/"
	log, err := c.bytes()
	if err != nil {
		return err
	}
	files[project+c.session+".jsonl"] = log
	sub := newClaudeLog(71, time.Date(2026, 5, 18, 7, 41, 0, 0, time.UTC))
	sub.session, sub.agent = c.session, "a1f0c3d2b4e5f6a7b"
	sub.user("Find every file under recipes/ that still names the old supplier.")
	sub.reply("The old supplier stands in recipes/rye.md and in recipes/spelt.md.")
	if files[project+c.session+"/subagents/agent-"+sub.agent+".jsonl"], err = sub.bytes(); err != nil {
		return err
	}
	files[project+c.session+"/tool-results/toolu_long.txt"] = []byte(strings.Repeat("batch 17: hydration 74 %, proofed 95 minutes\n", 40))
	return nil
}

// claudeLog is a session of Claude Code that is being written.
type claudeLog struct {
	*log
	session, agent, parent string
	records                []object
	context                int // tokens that the model read last
	replies                int
}

func newClaudeLog(seed uint64, start time.Time) *claudeLog {
	c := &claudeLog{log: newLog(dialect{cwd: "/repo/bakery", model: "claude-sonnet-4-5"}, seed), context: 28_400}
	c.now = start
	c.session = c.uuid()
	return c
}

func (c *claudeLog) bytes() ([]byte, error) { return jsonLines(c.records) }

// jsonLines writes records, one a line.
func jsonLines(records []object) ([]byte, error) {
	var out bytes.Buffer
	for _, r := range records {
		line, err := encode(r)
		if err != nil {
			return nil, err
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}

// note writes a record that stands outside of the tree.
func (c *claudeLog) note(kind string, more ...any) {
	c.records = append(c.records, newObject(append([]any{"type", kind, "sessionId", c.session}, more...)...))
}

// record writes a record of the tree below the last one and returns its id.
func (c *claudeLog) record(kind string, more ...any) string {
	c.wait(300, 4_000)
	id := c.uuid()
	var parent any
	if c.parent != "" {
		parent = c.parent
	}
	o := newObject("parentUuid", parent, "isSidechain", c.agent != "", "type", kind)
	if c.agent != "" {
		o = append(o, member{"agentId", c.agent})
	}
	o = append(o, newObject(more...)...)
	c.records = append(c.records, append(o, newObject("uuid", id, "timestamp", stamp(c.now), "cwd", c.dialect.cwd,
		"sessionId", c.session, "version", "2.1.197", "gitBranch", "main", "userType", "external")...))
	c.parent = id
	return id
}

func (c *claudeLog) user(content any, more ...any) string {
	return c.record("user", append([]any{"message", newObject("role", "user", "content", content)}, more...)...)
}

// reply writes an answer of the model: a record for each block.
func (c *claudeLog) reply(blocks ...any) (ids []string) {
	c.replies++
	c.context += 60 * len(blocks)
	reason := "end_turn"
	for i, b := range blocks {
		if text, ok := b.(string); ok {
			blocks[i] = newObject("type", "text", "text", text)
			continue
		}
		if b.(object).get("type") == "tool_use" {
			reason = "tool_use"
		}
	}
	for i, b := range blocks {
		ids = append(ids, c.record("assistant", "requestId", fmt.Sprintf("req_%04d", c.replies), "message", newObject(
			"id", fmt.Sprintf("msg_%s%04d", c.session[:4], c.replies), "type", "message", "role", "assistant", "model", c.dialect.model,
			"content", []any{b}, "stop_reason", reason, "usage", newObject("input_tokens", 12, "cache_creation_input_tokens", 800,
				"cache_read_input_tokens", c.context, "output_tokens", 20+15*i))))
	}
	return ids
}

func use(id, name string, input object) object {
	return newObject("type", "tool_use", "id", id, "name", name, "input", input)
}

// result writes what a tool returned, below the record that called it, and the
// same once more as the runtime keeps it.
func (c *claudeLog) result(under, call, output string, failed bool) {
	c.parent = under
	c.user([]any{newObject("tool_use_id", call, "type", "tool_result", "content", output, "is_error", failed)},
		"toolUseResult", newObject("stdout", output, "stderr", "", "interrupted", false), "sourceToolAssistantUUID", under)
}

// morning has a question, parallel calls whose results come in another order,
// a sub-agent, an image, and a turn that is taken back.
func (c *claudeLog) morning() {
	c.note("queue-operation", "operation", "enqueue", "content", "Plan the bakery week")
	c.note("mode", "mode", "normal")
	c.user("Plan the bakery week: flour, deliveries, shifts. The rye goes first.")
	c.record("attachment", "attachment", newObject("type", "skill_listing", "content", "- verify: check that a change works"))
	calls := c.reply(newObject("type", "thinking", "thinking", "Three files, all at once.", "signature", "c2lnbmF0dXJl"),
		"I read the stock and the calendar.",
		use("toolu_stock", "Read", newObject("file_path", "/repo/bakery/stock.md")),
		use("toolu_week", "Bash", newObject("command", "cal -m 5 2026")))
	c.result(calls[3], "toolu_week", "May 2026\nMo Tu We Th Fr Sa Su", false)
	c.result(calls[2], "toolu_stock", "rye: 9 sacks\nspelt: 14 sacks\n\n<system-reminder>\nThe file was opened for reading only.\n</system-reminder>", false)
	answer := c.reply("Nine sacks of rye last until Thursday. Millbrook delivers on Wednesday at 06:40, so the rye order moves to the second slot.")
	c.user("Use the old supplier instead.")
	c.reply("The old supplier closes on Tuesday.")
	c.parent = answer[0]
	task := c.reply(use("toolu_task", "Task", newObject("description", "find the old supplier", "subagent_type", "general-purpose")))
	c.result(task[0], "toolu_task", "The old supplier stands in recipes/rye.md and in recipes/spelt.md.", false)
	c.reply("Two recipes still name the old supplier; both are changed to Millbrook.")
	c.user([]any{newObject("type", "image", "source", newObject("type", "base64", "media_type", "image/png", "data", strings.Repeat("iVBORw0KGgo", 60))),
		newObject("type", "text", "text", "This is the oven plan. Which oven takes the sourdough?")})
	c.record("attachment", "attachment", newObject("type", "queued_command", "prompt", "And keep Saturday free.", "commandMode", "prompt"))
	c.reply("Oven 2, from 04:15; Saturday stays free.")
	c.note("last-prompt", "lastPrompt", "And keep Saturday free.", "leafUuid", c.parent)
}

// compacted is what /compact leaves: a boundary without a parent, a summary,
// and the echo of the command. The last answer stays.
func (c *claudeLog) compacted() {
	tail := c.parent
	c.parent = ""
	c.record("system", "subtype", "compact_boundary", "logicalParentUuid", tail, "content", "Conversation compacted",
		"compactMetadata", newObject("trigger", "manual", "preTokens", c.context, "postTokens", 640,
			"preservedSegment", newObject("headUuid", tail, "anchorUuid", tail, "tailUuid", tail)))
	c.user("This session is being continued from a previous conversation that ran out of context.\n\n## Goal\nPlan the bakery week.\n\n## Key Decisions\n- Millbrook delivers on Wednesday at 06:40; the rye goes to the second slot.\n",
		"isCompactSummary", true, "isVisibleInTranscriptOnly", true)
	c.user("<local-command-caveat>Caveat: The messages below were generated by the user while running local commands.</local-command-caveat>", "isMeta", true)
	c.user("<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n            <command-args>keep the order list</command-args>")
	c.user("<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>")
	c.context = 21_000
}

// afternoon has a failed command, an error of the API and a last answer.
func (c *claudeLog) afternoon() {
	c.user("Check the order list against the price limit of 410 francs.")
	calls := c.reply(use("toolu_check", "Bash", newObject("command", "node check-orders.mjs")))
	c.result(calls[0], "toolu_check", "Exit code 1\nError: order 7 costs 432 francs", true)
	c.record("assistant", "isApiErrorMessage", true, "error", "unknown", "message", newObject("id", c.uuid(), "type", "message", "role", "assistant",
		"model", "<synthetic>", "content", []any{newObject("type", "text", "text", "API Error: 529 Overloaded")},
		"usage", newObject("input_tokens", 0, "output_tokens", 0)))
	c.user("Go on, please.")
	c.reply("Order 7 is 22 francs over the limit; without the second tray of spelt it costs 398.")
	c.record("system", "subtype", "turn_duration", "durationMs", 4211, "isMeta", false)
	c.note("last-prompt", "lastPrompt", "Go on, please.", "leafUuid", c.parent)
}
