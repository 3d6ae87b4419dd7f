package main

import "time"

// claudeHistory writes what Claude Code keeps of every prompt: of the session that
// claudeStore writes, of two whose logs are gone, and of a time when prompts named
// no session.
func claudeHistory(files map[string][]byte) error {
	const bakery, research = "/repo/bakery", "/home/zoë/研究"
	h := promptHistory{now: time.Date(2025, 9, 14, 6, 10, 0, 0, time.UTC)}
	h.add(bakery, "", "Which mill still sells whole spelt?")
	h.add(bakery, "", "Write the flour list for the autumn fair")
	h.add("", "", "/help")
	h.now = h.now.Add(26 * time.Hour)
	h.add(bakery, "", "Move the fair order to stall 31")
	h.now = time.Date(2026, 2, 3, 9, 0, 0, 0, time.UTC)
	const oven, thesis = "7d1f4c02-5b7e-4a90-9c11-2f6a0d3e8b55", "c0a80f3e-1d2b-4f6a-8e77-90ab12cd34ef"
	h.add(bakery, oven, "The deck oven drifts: log the stone temperature every 10 minutes")
	h.add(bakery, oven, "Here is the probe's output [Pasted text #1 +3 lines]", newObject("id", 1, "type", "text", "content", "06:40 231 C\n06:50 227 C\n07:00 219 C\nprobe serial KX-4471"))
	h.add(research, thesis, "概要を200字で書いて")
	h.add(bakery, oven, "Compare it with [Pasted text #1 +900 lines]", newObject("id", 1, "type", "text", "contentHash", "2f8e1c0b77aa41d9"))
	h.add(bakery, oven, "/compact")
	h.now = time.Date(2026, 5, 18, 7, 30, 3, 0, time.UTC)
	h.add(bakery, newClaudeLog(67, h.now).session, "Plan the bakery week: flour, deliveries, shifts. The rye goes first.")
	lines, err := jsonLines(h.lines)
	files["claude-history/.claude/history.jsonl"] = lines
	return err
}

// promptHistory is Claude Code's history while it is written.
type promptHistory struct {
	now   time.Time
	lines []object
}

func (h *promptHistory) add(project, session, typed string, pasted ...object) {
	contents := object{}
	for _, p := range pasted {
		contents = append(contents, member{"1", p})
	}
	line := newObject("display", typed, "pastedContents", contents, "timestamp", h.now.UnixMilli())
	if project != "" {
		line = append(line, member{"project", project})
	}
	if session != "" {
		line = append(line, member{"sessionId", session})
	}
	h.lines = append(h.lines, line)
	h.now = h.now.Add(7 * time.Minute)
}
