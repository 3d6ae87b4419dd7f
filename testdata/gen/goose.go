package main

import (
	"fmt"
	"strings"
)

// gooseRows writes the rows of two sessions of Goose as statements of SQL: one with
// tools, a failed call and a compaction, and one of an agent that it began.
func gooseRows(files map[string][]byte) error {
	var out strings.Builder
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	var failed error
	message := func(session string, minute int64, role string, metadata object, blocks ...object) {
		content, err := encode(blocks)
		if err != nil {
			failed = err
		}
		about, err := encode(metadata)
		if err != nil {
			failed = err
		}
		at := 1_772_200_800 + minute*60
		if minute%2 == 1 {
			at *= 1000 // some programs write milliseconds
		}
		fmt.Fprintf(&out, "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES ('msg_%s_%d', '%s', '%s', %s, %d, %s);\n",
			session, minute, session, role, quote(string(content)), at, quote(string(about)))
	}
	seen := func(user, agent bool) object { return newObject("userVisible", user, "agentVisible", agent) }
	text := func(s string) object { return newObject("type", "text", "text", s) }
	call := func(id, name string, arguments object) object {
		return newObject("type", "toolRequest", "id", id, "toolCall", newObject("status", "success", "value", newObject("name", name, "arguments", arguments)))
	}
	const orchard, helper = "20260227_1", "20260227_2"
	fmt.Fprintf(&out, "INSERT INTO sessions (id, name, working_dir, updated_at, total_tokens) VALUES ('%s', 'Pruning plan', '/home/lea/orchard', '2026-02-27 14:10:00', 5230);\n", orchard)
	fmt.Fprintf(&out, "INSERT INTO sessions (id, name, session_type, working_dir, updated_at) VALUES ('%s', 'Count the crates', 'sub_agent', '/home/lea/orchard', '2026-02-27 14:05:00');\n", helper)
	message(orchard, 0, "user", seen(true, false), text("Which row of pears is pruned first?"))
	message(orchard, 1, "assistant", seen(true, false), newObject("type", "thinking", "thinking", "The plan has it.", "signature", ""), call("call_1", "developer__shell", newObject("command", "cat plan.md")))
	message(orchard, 2, "user", seen(true, false), newObject("type", "toolResponse", "id", "call_1", "toolResult", newObject("status", "success", "value", newObject("content", []any{newObject("type", "text", "text", "row 7: Williams, prune by 3 March\nrow 9: Conference")}, "isError", false))))
	message(orchard, 3, "assistant", seen(true, false), text("Row 7, the Williams pears, by 3 March."))
	message(orchard, 4, "user", seen(false, true), text("The plan was read: row 7 is pruned first."))
	message(orchard, 5, "user", seen(true, true), text("Who has the long ladder?"))
	message(orchard, 6, "assistant", seen(true, true), call("call_2", "developer__shell", newObject("command", "cat ladders.md")))
	message(orchard, 7, "user", seen(true, true), newObject("type", "toolResponse", "id", "call_2", "toolResult", newObject("status", "error", "error", "ladders.md: no such file")))
	message(orchard, 8, "assistant", seen(true, true), text("There is no list of ladders; ask Ines at the gate."))
	message(helper, 2, "user", object{}, text("Count the crates in the cold store"))
	message(helper, 3, "assistant", object{}, text("There are 214 crates."))
	fmt.Fprintf(&out, "INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, total_tokens) VALUES ('%s', 1772201280, 'model-one', 5100, 130, 5230);\n", orchard)
	files["goose/sessions.sql"] = []byte(out.String())
	return failed
}
