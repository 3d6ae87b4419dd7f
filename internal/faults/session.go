//go:build linux && amd64

package faults

import "fmt"

// Chunks is how many chunks the session makes: blocks of four messages.
const Chunks = 6

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

// sessionLines is a small session. Two of its lines are the same, and damaged,
// as agents leave them: archives keep bytes, not meanings.
func sessionLines(runtime string) []string {
	lines := []string{fmt.Sprintf(`{"type":"session","version":3,"id":"%s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/work/a"}`, Session)}
	parent := "null"
	for i := range 24 {
		id := fmt.Sprintf("%08x", 0xa0000000+i)
		at := fmt.Sprintf("2026-03-01T10:%02d:00.000Z", i)
		body := fmt.Sprintf(`"role":"user","content":[{"type":"text","text":"question %d about the %s importer"}]`, i, runtime)
		if i%2 == 1 {
			body = assistant(fmt.Sprintf("answer %d: port %d", i, 7000+i), 100+i)
		}
		lines = append(lines, fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"%s","message":{%s}}`, id, parent, at, body))
		parent = `"` + id + `"`
		if i == 7 || i == 15 {
			lines = append(lines, `{"type":"message","id":"torn`)
		}
	}
	return lines
}

func assistant(text string, tokens int) string {
	return fmt.Sprintf(`"role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":%d},"stopReason":"stop"`, text, tokens)
}

// lateLine is what an agent writes while sessctl is at work: the end of a turn.
func lateLine() string {
	return `{"type":"message","id":"b0000000","parentId":"a0000017","timestamp":"2026-03-01T11:00:00.000Z","message":{` + assistant("one more thing", 200) + `}}`
}
