package main

// cursorHome writes two transcripts of Cursor's agent: one with a tool and a turn
// that failed, and one of an agent that it began.
func cursorHome(files map[string][]byte) error {
	const transcripts = "cursor/.cursor/projects/home-lea-smithy/agent-transcripts/4b1f6f0a-93c7-4f0e-8f55-0c7a4d1e2b33/"
	text := func(s string) object { return newObject("type", "text", "text", s) }
	says := func(role string, blocks ...any) object {
		return newObject("role", role, "message", newObject("content", blocks))
	}
	call := func(name string, args ...any) object {
		return newObject("type", "tool_use", "name", name, "input", newObject(args...))
	}
	log, err := jsonLines([]object{
		says("user", text("<timestamp>Friday, Feb 27, 2026, 9:12 AM (UTC+1)</timestamp>\n<user_query>\nWhich anvil is due for grinding?\n</user_query>")),
		says("assistant", text("I look at the list of tools.\n\n[REDACTED]"), call("Read", "path", "anvils.md")),
		says("assistant", text("The south anvil: its face is worn by 2 mm.")),
		newObject("type", "turn_ended", "status", "success"),
		says("user", text("<image_files>\nforge.png\n</image_files>\n<timestamp>Friday, Feb 27, 2026, 9:40 AM (UTC+1)</timestamp>\n<user_query>\nAnd the hammers?\n</user_query>")),
		says("assistant", call("Subagent", "prompt", "List the hammers on the west wall.")),
		newObject("type", "turn_ended", "status", "error", "error", "the connection was lost"),
	})
	if err != nil {
		return err
	}
	files[transcripts+"4b1f6f0a-93c7-4f0e-8f55-0c7a4d1e2b33.jsonl"] = log
	files[transcripts+"subagents/9d2c77e1-0b4d-4d7a-a1a5-6e5f3c2b1a00.jsonl"], err = jsonLines([]object{
		says("user", text("<user_query>\nList the hammers on the west wall.\n</user_query>")), says("assistant", text("Eleven hammers, three of them cross-peen.")),
	})
	return err
}
