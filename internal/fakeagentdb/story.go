package fakeagentdb

import (
	"fmt"
	"strings"
	"time"
)

// The sessions of Story.
const (
	Current = "7b3a9d64-52c1-4f0e-8a77-0c5de1f20d01" // of the main key
	Earlier = "7b3a9d64-52c1-4f0e-8a77-0c5de1f20d02" // of the main key, before
	Group   = "7b3a9d64-52c1-4f0e-8a77-0c5de1f20d03" // of a group
	MainKey = "agent:coordinator:main"
)

// Lines are the lines of the current session's log: a header of version 4, a
// turn with a large tool result, a reset, and a turn after it.
func Lines() []string {
	files := strings.Repeat("-rw-r--r-- 1 lea lea 512 anchovy-inventory.txt\n", 400)
	return []string{
		`{"type":"session","version":4,"id":"` + Current + `","timestamp":"2026-09-02T08:00:00.000Z","cwd":"/home/lea/pier"}`,
		message(1, "", "user", `"content":"Where is the anchovy inventory?"`),
		message(2, "1", "assistant", `"content":[{"type":"toolCall","id":"call_1","name":"exec","arguments":{"command":"ls"}}],"stopReason":"toolUse","usage":{"input":900,"output":20,"totalTokens":920}`),
		message(3, "2", "toolResult", fmt.Sprintf(`"toolCallId":"call_1","toolName":"exec","content":[{"type":"text","text":%q}],"isError":false`, files)),
		message(4, "3", "assistant", `"content":[{"type":"text","text":"The anchovy inventory lies in the cold room."}],"stopReason":"stop","usage":{"input":160000,"output":30,"totalTokens":160030}`),
		`{"type":"reset","id":"aa55aa55","parentId":"` + id(4) + `","timestamp":"2026-09-02T08:00:05.000Z","reason":"reset"}`,
		strings.Replace(message(6, "", "user", `"content":"Book the pilot boat for Thursday."`), `"parentId":null`, `"parentId":"aa55aa55"`, 1),
		message(7, "6", "assistant", `"content":[{"type":"text","text":"The pilot boat is booked for Thursday at nine."}],"stopReason":"stop","usage":{"input":700,"output":12,"totalTokens":712}`),
	}
}

func id(n int) string { return fmt.Sprintf("0c5de1f2-0000-4000-8000-%012d", n) }

func message(n int, parent, role, rest string) string {
	quoted := "null"
	if parent != "" {
		var p int
		_, _ = fmt.Sscan(parent, &p) // a number of this file
		quoted = `"` + id(p) + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-09-02T08:00:%02d.000Z","message":{"role":%q,%s}}`, id(n), quoted, n, role, rest)
}

// EarlierLines are the lines of the earlier session's log.
func EarlierLines() []string { return shortLines(Earlier, "The lighthouse needs a new lamp.") }

func shortLines(session, text string) []string {
	return []string{
		fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-09-01T08:00:00.000Z","cwd":"/home/lea/pier"}`, session),
		fmt.Sprintf(`{"type":"message","id":"b0000001","parentId":null,"timestamp":"2026-09-01T08:00:01.000Z","message":{"role":"user","content":%q}}`, text),
		`{"type":"message","id":"b0000002","parentId":"b0000001","timestamp":"2026-09-01T08:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"It is noted."}],"stopReason":"stop"}}`,
	}
}

// Story is a database with three sessions. The large tool result is compressed.
// With live, the last turn is only in the write-ahead log.
func Story(live bool) Content {
	began := time.Date(2026, 9, 2, 8, 0, 0, 0, time.UTC).UnixMilli()
	c := Content{
		Version: 23, Main: "main",
		Nodes: []Node{
			{MainKey, Current, `{"sessionId":"` + Current + `","updatedAt":1788336008000,"model":"mock-large","contextTokens":200000,"totalTokens":712,"totalTokensFresh":true}`},
			{"agent:coordinator:telegram:group:42", Group, `{"sessionId":"` + Group + `","updatedAt":1788336008000}`},
		},
		Windows: [][2]string{{Current, MainKey}, {Earlier, MainKey}, {Group, "agent:coordinator:telegram:group:42"}},
	}
	add := func(session string, lines []string) {
		for i, line := range lines {
			r := Row{Session: session, Seq: int64(i), JSON: line, Length: int64(len(line)), At: began + int64(i)*1000}
			if len(line) > 1024 {
				r = Packed(r)
			}
			c.Rows = append(c.Rows, r)
		}
	}
	add(Earlier, EarlierLines())
	add(Group, shortLines(Group, "Who sails on Sunday?"))
	add(Current, Lines())
	if live {
		c.Rows, c.Late = c.Rows[:len(c.Rows)-2], c.Rows[len(c.Rows)-2:]
	}
	return c
}
