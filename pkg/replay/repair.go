package replay

// Unavailable is what takes the place of a tool's result that is missing, word
// for word as it was asked for (docs/dev/decisions.md D20).
const Unavailable = `{"error":"Tool result unavailable (recovered from broken history)"}`

// Repair makes calls and results fit, for each call by itself and over all tool
// messages that follow each other:
//
//   - Calls of anybody but the assistant are left out with their results: a
//     damaged log can give them to a person. A message of nothing else goes too.
//   - A result without a call in the assistant's message before it is left
//     out, and so is a second result of the same call.
//   - An assistant's message whose model call failed or was broken off is left
//     out with its results, as pi does: half a turn is not sent again.
//   - A call without a result before the next message that is not a tool's
//     gets one that says so.
//
// Results keep their order; missing ones come after them.
func Repair(messages []Message) []Message {
	var out []Message
	var open []ToolCall // of the last assistant message, without a result
	for _, m := range messages {
		if m.Role == Tool {
			i := indexOf(open, m.CallID)
			if i < 0 {
				continue
			}
			m.ToolName = orElse(m.ToolName, open[i].Name)
			open = append(open[:i:i], open[i+1:]...)
			out = append(out, m)
			continue
		}
		out = append(out, unanswered(open)...)
		if m.failed {
			open = nil
			continue
		}
		made := len(m.ToolCalls)
		if m.ToolCalls = callsOf(m); len(m.ToolCalls) < made {
			m.core = ""
		}
		open = append([]ToolCall(nil), m.ToolCalls...)
		if made == 0 || !m.empty() {
			out = append(out, m)
		}
	}
	return append(out, unanswered(open)...)
}

func indexOf(calls []ToolCall, id string) int {
	for i, c := range calls {
		if c.ID == id {
			return i
		}
	}
	return -1
}

func orElse(value, fallback string) string {
	if value != "" {
		return value
	}
	return fallback
}

// callsOf are the calls of a message that providers take: those of an assistant,
// the first of each id. A call without an id cannot be answered.
func callsOf(m Message) (kept []ToolCall) {
	if m.Role != Assistant {
		return nil
	}
	for _, c := range m.ToolCalls {
		if c.ID != "" && indexOf(kept, c.ID) < 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

func unanswered(open []ToolCall) (added []Message) {
	for _, c := range open {
		added = append(added, Message{Role: Tool, Text: Unavailable, CallID: c.ID, ToolName: c.Name, IsError: true, Reason: ReasonAdded})
	}
	return added
}
