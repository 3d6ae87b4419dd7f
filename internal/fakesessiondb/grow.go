package fakesessiondb

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Grow adds sessions to a database until the data of its rows has about so many
// bytes, in the shape of those that people report: outputs of 24 KB, each call of
// which stands in the journal in every state that it had, eight times in all. Half
// of the sessions are old, the others were used in the last weeks.
func Grow(d *Database, bytes int64) {
	d.Do("PRAGMA wal_autocheckpoint=1000")
	random := rand.New(rand.NewPCG(1, 2))
	const output, states, turns = 24 << 10, 8, 40
	const minute = 60_000 // of milliseconds
	lately := time.Now().UnixMilli() - 3*24*60*minute
	for n := 0; bytes > 0 && d.err == nil; n++ {
		d.Do("BEGIN")
		id := fmt.Sprintf("ses_%026d", n)
		at := int64(Began) + int64(n)*60*minute
		if n%2 == 1 {
			at = lately - int64(n)*10*minute
		}
		d.Session(id, "", fmt.Sprintf("Session %d", n), at)
		for turn := range turns {
			at += minute
			u := d.User(id, at, fmt.Sprintf("list the files of part %d", turn))
			tool := Tool("bash", fmt.Sprintf("call_%d_%d", n, turn), Thing{"command": "ls -la"}, lines(random, output), Thing{"exit": 0})
			var before []Thing
			for range states - 3 {
				before = append(before, Thing{"type": "tool", "tool": "bash", "callID": tool["callID"], "state": tool["state"]})
			}
			m := d.Answer(Turn{id, u, at + 1000}, Tokens(3000, 20, 4000), Thing{"finish": "tool-calls"})
			d.Part(id, m, at+1000, tool, before...)
			d.Answer(Turn{id, u, at + 2000}, Tokens(3000, 20, 4000), nil, Text(fmt.Sprintf("Part %d has what it needs.", turn)))
			bytes -= 2 * output * (states - 1)
		}
		d.Do("COMMIT")
	}
}

// lines are an output that no two calls share.
func lines(random *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "-rw-r--r-- 1 lea lea %7d flour-%08x.txt\n", random.IntN(1<<20), random.Uint32())
	}
	return b.String()
}
