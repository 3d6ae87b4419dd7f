package main

import "encoding/json"

// editorTasks writes a task of Cline's extension, whose tools are called in text,
// and one of Roo Code's, with blocks for tools and a context that was condensed.
func editorTasks(files map[string][]byte) error {
	const storage = "cline-tasks/.config/Code/User/globalStorage/"
	const around = "<environment_details>\n# VSCode Visible Files\nnotes.md\n\n# Current Working Directory (/home/lea/mill) Files\nnotes.md\nstones.csv\n</environment_details>"
	text := func(s string) object { return newObject("type", "text", "text", s) }
	message := func(at int64, role string, rest ...any) object {
		return newObject(append([]any{"role", role, "ts", 1_772_100_000_000 + at*60_000}, rest...)...)
	}
	cline := []any{
		message(0, "user", "content", []any{text("<task>\nWhich millstone is due for dressing?\n</task>"), text(around)}),
		message(1, "assistant", "content", []any{text("<thinking>The table has it.</thinking>\n<read_file>\n<path>stones.csv</path>\n</read_file>")}),
		message(2, "user", "content", []any{text("[read_file for 'stones.csv'] Result:"), text("stone,hours\nnorth,412\nsouth,977"), text(around)}),
		message(3, "assistant", "content", []any{text("<attempt_completion>\n<result>The south stone, with 977 hours.</result>\n</attempt_completion>")}),
		message(4, "user", "content", []any{text("[attempt_completion] Result:"), text("<feedback>\nBook the stone dresser for 14 April\n</feedback>"), text(around)}),
		message(5, "assistant", "content", []any{text("The dresser comes on 14 April at 07:20.")}),
	}
	roo := []any{
		message(0, "user", "content", []any{text("<task>\nMove the sluice rota to the new sheet\n</task>"), text("<environment_details>\n# Current Workspace Directory (/home/lea/weir) Files\nrota.md\n</environment_details>")}),
		message(1, "assistant", "content", []any{newObject("type", "tool_use", "id", "toolu_w1", "name", "read_file", "input", newObject("path", "rota.md"))}),
		message(2, "user", "content", []any{newObject("type", "tool_result", "tool_use_id", "toolu_w1", "content", "Mon: Ada\nTue: Bo")}),
		message(3, "assistant", "content", "Ada has Monday, Bo has Tuesday."),
		message(4, "assistant", "type", "reasoning", "summary", []any{}, "encrypted_content", "gAAAA"),
		message(5, "user", "content", "The rota of the weir: Ada on Monday, Bo on Tuesday.", "isSummary", true),
		message(6, "user", "content", []any{text("<user_message>\nWho takes the flood watch?\n</user_message>")}),
		message(7, "assistant", "content", []any{newObject("type", "tool_use", "id", "toolu_w2", "name", "attempt_completion", "input", newObject("result", "Bo takes the flood watch."))}),
	}
	request := func(at int64, in, out, read int) object {
		usage, err := json.Marshal(map[string]any{"request": "...", "tokensIn": in, "tokensOut": out, "cacheReads": read, "cacheWrites": 0, "cost": 0.01})
		if err != nil {
			panic(err)
		}
		return newObject("ts", 1_772_100_000_000+at*60_000, "type", "say", "say", "api_req_started", "text", string(usage))
	}
	shown := map[string][]any{
		"saoudrizwan.claude-dev/tasks/1772100000000/ui_messages.json": {
			newObject("ts", 1_772_100_000_000, "type", "say", "say", "text", "text", "Which millstone is due for dressing?"),
			request(1, 3100, 40, 0), request(3, 420, 35, 3100), request(5, 510, 28, 3300), newObject("ts", 1_772_100_300_000, "type", "ask", "ask", "completion_result", "text", ""),
		},
		"saoudrizwan.claude-dev/tasks/1772100000000/api_conversation_history.json":                            cline,
		"rooveterinaryinc.roo-cline/tasks/0197d2aa-4c11-7d30-8b52-6a0f1e2d3c4b/api_conversation_history.json": roo,
		"rooveterinaryinc.roo-cline/tasks/0197d2aa-4c11-7d30-8b52-6a0f1e2d3c4b/ui_messages.json": {
			request(1, 2900, 30, 0), request(3, 2990, 12, 0), newObject("ts", 1_772_100_310_000, "type", "say", "say", "condense_context"),
		},
	}
	for name, messages := range shown {
		text, err := encode(messages)
		if err != nil {
			return err
		}
		files[storage+name] = text
	}
	files[storage+"saoudrizwan.claude-dev/tasks/1772100000000/task_metadata.json"] = []byte(`{"files_in_context":[],"model_usage":[]}`)
	return nil
}
