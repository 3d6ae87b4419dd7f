package fakestatedb

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Grow adds sessions until the texts of their messages have about so many bytes:
// 160 messages each, twenty of them outputs of tools of 25 KB, of words that hardly
// repeat, so that the index of words is as large as the text. Half of the sessions
// ended 200 days before now, the others a day before.
func Grow(d *Database, bytes int64, now time.Time) {
	const turns, output = 40, 25_000
	d.Do("PRAGMA wal_autocheckpoint=1000")
	random := rand.New(rand.NewPCG(1, 2))
	for n := 0; bytes > 0 && d.err == nil; n++ {
		day := 200
		if n%2 == 1 {
			day = 1
		}
		at := float64(now.AddDate(0, 0, -day).Unix())
		id := fmt.Sprintf("20260101_000000_%06x", n)
		d.Do("BEGIN")
		d.Row("sessions", "id", id, "source", "cli", "model", "mock-large", "model_config", "{}", "cwd", "/home/lea/bakery", "title", fmt.Sprintf("Week %d", n),
			"started_at", at, "last_activity_at", at+turns*10, "ended_at", at+turns*10, "end_reason", "completed")
		for turn := range turns {
			at += 10
			call := fmt.Sprintf("call_%d_%d", n, turn)
			d.Say(id, "user", fmt.Sprintf("list the files of part %d", turn), at)
			d.Say(id, "assistant", "Let me look.", at+1, "finish_reason", "tool_calls", "tool_calls", `[{"id": "`+call+`", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\":\"ls -la\"}"}}]`)
			size := 200
			if turn%2 == 0 {
				size = output
			}
			d.Say(id, "tool", `{"output": "`+rareWords(random, size)+`", "exit_code": 0, "error": null}`, at+2, "tool_name", "terminal", "tool_call_id", call)
			d.Say(id, "assistant", fmt.Sprintf("Part %d has what it needs.", turn), at+3, "finish_reason", "stop")
			bytes -= int64(size)
		}
		d.Do("COMMIT")
	}
}

// rareWords are words that no two texts share.
func rareWords(random *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "flour%08x ", random.Uint32())
	}
	return b.String()
}
