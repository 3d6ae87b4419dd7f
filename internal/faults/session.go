//go:build linux && amd64

package faults

import (
	"fmt"
	"strings"
)

// Session is the id of the session in every home.
const Session = "5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"

// Chunks is how many chunks the session makes: 24 messages, four a block, and
// each block a little longer than a chunk.
const Chunks = 12

// layout is where a runtime keeps a session, and in what form.
type layout struct {
	log   string // below the home directory
	index string // beside the log; "" for none
	// header is the first line, message one message, turn two of them.
	header  string
	message func(i int, text string) string
	tail    int // lines that the runtime's own compaction keeps: five turns and a damaged line
}

const (
	openclawLog  = ".openclaw/agents/a/sessions/" + Session + ".jsonl"
	piLog        = ".pi/agent/sessions/--work-a--/2026-03-01T10-00-00-000Z_" + Session + ".jsonl"
	agentLog     = ".agent/sessions/" + agentSession + "/session.jsonl"
	agentSession = "01JKTS6Q2N8R3Z5V7W9XYB4CDE"
	annabelleLog = ".annabelle/sessions/a/8304042211.jsonl"
	claudeLog    = ".claude/projects/-work-a/" + Session + ".jsonl"
	macstatsLog  = ".mac-stats/session/session-memory-8304042211-20260301-100000-importer.md"

	piHeader        = `{"type":"session","version":3,"id":"` + Session + `","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/work/a"}`
	annabelleHeader = `{"type":"header","chatId":"8304042211","agentId":"a","createdAt":"2026-03-01T10:00:00.000Z","version":1}`
)

func layouts() map[string]layout {
	return map[string]layout{
		"openclaw":  {log: openclawLog, index: "sessions.json", header: piHeader, message: piMessage},
		"pi":        {log: piLog, header: piHeader, message: piMessage},
		"agent":     {log: agentLog, message: agentMessage},
		"annabelle": {log: annabelleLog, header: annabelleHeader, message: annabelleTurn, tail: 6},
		"macstats":  {log: macstatsLog, message: macstatsMessage},
		"claude":    {log: claudeLog, message: claudeMessage},
	}
}

const sessionIndex = `{
  "agent:a:main": {
    "sessionId": "` + Session + `",
    "updatedAt": 1772359300000,
    "label": "desk",
    "contextTokens": 200000,
    "totalTokens": 160000,
    "totalTokensFresh": true
  },
` + otherEntry + `
}
`

// otherEntry belongs to another session: nothing may change a byte of it.
const otherEntry = `  "agent:a:cron:daily": { "sessionId": "00000000-0000-4000-8000-000000000001", "updatedAt": 1 }`

// lines is a small session, long enough that a summary is shorter. Two of its
// lines are the same, and damaged, as agents leave them: archives keep bytes,
// not meanings.
func (l layout) lines() []string {
	var lines []string
	if l.header != "" {
		lines = append(lines, l.header)
	}
	for i := range 24 {
		if line := l.message(i, text(i)); line != "" {
			lines = append(lines, strings.Split(line, "\n")...)
		}
		if i == 7 || i == 15 {
			lines = append(lines, `{"type":"message","id":"torn`)
		}
	}
	return lines
}

// late is what an agent writes while sessctl is at work: the end of a turn.
func (l layout) late() []string { return strings.Split(l.message(25, "one more thing"), "\n") }

func text(i int) string {
	return fmt.Sprintf("message %d about the importer: port %d. ", i, 7000+i) + strings.Repeat(fmt.Sprintf("The importer moved for reason %d, which nobody disputes. ", i), 15)
}

func clock(i int) string { return fmt.Sprintf("2026-03-01T10:%02d:00.000Z", i) }

// piMessage is a message of pi and OpenClaw: one entry of a tree.
func piMessage(i int, text string) string {
	parent := "null"
	if i > 0 {
		parent = fmt.Sprintf(`"%08x"`, 0xa0000000+min(i, 24)-1)
	}
	body := fmt.Sprintf(`"role":"user","content":[{"type":"text","text":"%s"}]`, text)
	if i%2 == 1 {
		body = fmt.Sprintf(`"role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":%d},"stopReason":"stop"`, text, 100+i)
	}
	return fmt.Sprintf(`{"type":"message","id":"%08x","parentId":%s,"timestamp":"%s","message":{%s}}`, 0xa0000000+i, parent, clock(i), body)
}

func agentMessage(i int, text string) string {
	role := "user"
	if i%2 == 1 {
		role = "assistant"
	}
	return fmt.Sprintf(`{"recordType":"message","schemaVersion":1,"seq":%d,"role":"%s","content":[{"type":"text","text":"%s"}],"timestamp":"%s"}`, i+1, role, text, clock(i))
}

// claudeMessage is a record of Claude Code.
func claudeMessage(i int, said string) string {
	parent, role := "null", "user"
	if i > 0 {
		parent = fmt.Sprintf(`"%08x-0000-4000-8000-000000000000"`, min(i, 24)-1)
	}
	if i%2 == 1 {
		role = "assistant"
	}
	return fmt.Sprintf(`{"type":"%s","uuid":"%08x-0000-4000-8000-000000000000","parentUuid":%s,"sessionId":"%s","timestamp":"%s","message":{"role":"%s","content":[{"type":"text","text":"%s"}]}}`, role, i, parent, Session, clock(i), role, said)
}

// annabelleTurn has two messages: every second one makes a line.
func annabelleTurn(i int, said string) string {
	if i%2 == 0 {
		return ""
	}
	return fmt.Sprintf(`{"type":"turn","user":"%s","assistant":"%s","timestamp":"%s","toolsUsed":[],"tokens":{"prompt":1500,"completion":100}}`, text(i-1), said, clock(i))
}

// macstatsMessage is a part of a Markdown document. What is learned from it is
// a line of its own.
func macstatsMessage(i int, said string) string {
	if i == 25 {
		return "## Assistant \n\n" + said + "\n" // the late one's lines are told from the others
	}
	if i%2 == 1 {
		return "## Assistant\n\n" + said + "\n"
	}
	return fmt.Sprintf("## User\n\nYou must never forget rule %d.\n%s\n", i, said)
}
