package adapters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

const carryHeader = `{"type":"session","version":3,"id":"fresh","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/work"}` + "\n"

// entryLine is a message as the runtimes write it; parent "" is null.
func entryLine(id, parent, text string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":"%s", "parentId" : %s,"message":{"role":"assistant","content":"%s","parentId":"decoy"}}`+"\n", id, p, text)
}

func carry(t rapid.TB, log, tail string) piformat.Carried {
	t.Helper()
	c, err := piformat.Carry(context.Background(), strings.NewReader(log), int64(len(log)), []byte(tail))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPiformatCarryHangsLateRecordsOnTheLeaf(t *testing.T) {
	tail := entryLine("r1", "0ld", "one") + entryLine("r2", "r1", "two")
	for name, c := range map[string]struct{ log, want string }{
		"fresh log":       {carryHeader + entryLine("f1", "", "hello"), entryLine("r1", "f1", "one") + entryLine("r2", "r1", "two")},
		"only the header": {carryHeader, entryLine("r1", "", "one") + entryLine("r2", "r1", "two")},
		"carried already": {carryHeader + entryLine("r1", "", "one") + entryLine("r2", "r1", "two"), ""},
		"half of it": {
			carryHeader + entryLine("r1", "", "one") + entryLine("f1", "r1", "hello"),
			entryLine("r2", "f1", "two"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := carry(t, c.log, tail); got.Text != c.want || got.Records != strings.Count(c.want, "\n") || got.LeftOut != 0 {
				t.Fatalf("%+v, want %s", got, c.want)
			}
		})
	}
}

func TestPiformatCarryLeavesOut(t *testing.T) {
	for name, line := range map[string]string{
		"a header":              carryHeader,
		"a compaction":          `{"type":"compaction","id":"c","parentId":"x","summary":"s","firstKeptEntryId":"x"}` + "\n",
		"a change of the model": `{"type":"model_change","id":"c","parentId":"x","modelId":"m"}` + "\n",
		"the answer of a tool that was called before": `{"type":"message","id":"c","parentId":"x","message":{"role":"toolResult","toolCallId":"t1","content":[]}}` + "\n",
		"a reset":                  `{"type":"reset","id":"c","parentId":"x"}` + "\n",
		"half a record":            `{"type":"message","id":"c","parentId":"x","mess`,
		"half a record, then one":  `{"type":"message","id":"c","par{"type":"message","id":"d","parentId":"x","message":{}}` + "\n",
		"no JSON":                  "oops\n",
		"no id":                    `{"type":"message","parentId":"x","message":{"role":"user","content":"a"}}` + "\n",
		"nothing to hang on":       `{"type":"message","id":"c","message":{"role":"user","content":"a"}}` + "\n",
		"a line without line feed": strings.TrimSuffix(entryLine("c", "x", "whole"), "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			log := carryHeader + entryLine("f1", "", "hello")
			got := carry(t, log, entryLine("r1", "x", "one")+line)
			if want := entryLine("r1", "f1", "one"); got.Text != want || got.LeftOut != 1 {
				t.Fatalf("%+v", got)
			}
		})
	}
}

// A tool's call and its result go together. The context that an answer counted
// was another one: with its usage the fresh session would be taken for full.
func TestPiformatCarryAdaptsAnswers(t *testing.T) {
	call := `{"id":"r1","parentId":"x","type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"read","arguments":{"usage":{"input":5}}}],"usage":{ "input":150000,"output" : 20,"cacheRead":3,"totalTokens":150023,"cost":{"total":0.5}},"usage":{"input":7},"stopReason":"toolUse"}}` + "\n"
	result := `{"type":"message","id":"r2","parentId":"r1","message":{"role":"toolResult","toolCallId":"t1","content":[],"details":{"usage":{"input":9}}}}` + "\n"
	log := carryHeader + entryLine("f1", "", "hello")
	got := carry(t, log, call+result)
	want := `{"id":"r1","parentId":"f1","type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"read","arguments":{"usage":{"input":5}}}],"usage":{ "input":0,"output" : 0,"cacheRead":0,"totalTokens":0,"cost":{"total":0.5}},"usage":{"input":0},"stopReason":"toolUse"}}` + "\n" + result
	if got.Text != want || got.LeftOut != 0 {
		t.Fatalf("got %s\nwant %s", got.Text, want)
	}
	if again := carry(t, log+got.Text, call+result); again.Text != "" {
		t.Fatalf("again: %s", again.Text)
	}
	tail, err := piformat.Tail(t.Context(), strings.NewReader(log+got.Text), int64(len(log+got.Text)), time.Now())
	if err != nil || tail.Tokens > 1000 {
		t.Fatalf("the session is taken to have %d tokens (%v)", tail.Tokens, err)
	}
}

func TestPiformatCarryRefuses(t *testing.T) {
	tail := entryLine("r1", "x", "one")
	for name, c := range map[string][2]string{
		"another record with the id": {carryHeader + entryLine("r1", "", "other"), tail},
		"an id twice in the tail":    {carryHeader, tail + entryLine("r1", "x", "other")},
		"no header":                  {entryLine("f1", "", "hello"), tail},
		"version 1":                  {strings.Replace(carryHeader, `"version":3,`, "", 1), tail},
		"version 4":                  {strings.Replace(carryHeader, `"version":3`, `"version":4`, 1), tail},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := piformat.Carry(t.Context(), strings.NewReader(c[0]), int64(len(c[0])), []byte(c[1]))
			if !errors.Is(err, session.ErrUnsupported) {
				t.Fatalf("error %v", err)
			}
		})
	}
}

// node is an entry as the runtimes see it.
type node struct {
	ID     string  `json:"id"`
	Parent *string `json:"parentId"`
}

// branch follows the parents from the last entry, with nothing of ours.
func branch(t rapid.TB, log string) []string {
	var last node
	byID := map[string]node{}
	for line := range strings.Lines(log) {
		var n node
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if !strings.Contains(line, `"type":"session"`) {
			byID[n.ID], last = n, n
		}
	}
	var path []string
	for n := last; n.ID != "" && len(path) <= len(byID); n = byID[*n.Parent] {
		path = append(path, n.ID)
		if n.Parent == nil {
			break
		}
	}
	return path
}

// Whatever reached the old log, and however often and wherever carrying it was
// cut off or the agent went on in between: every record is there once, byte
// for byte but for its parent, and nothing of the fresh session is hidden.
func TestPiformatCarryOnceAndHidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log, leaf := carryHeader, ""
		say := func(n int) {
			id := fmt.Sprintf("f%d", n)
			log += entryLine(id, leaf, "fresh")
			leaf = id
		}
		for n := range rapid.IntRange(0, 3).Draw(t, "fresh") {
			say(n)
		}
		var lines []string
		for n := range rapid.IntRange(1, 6).Draw(t, "late") {
			parent := rapid.SampledFrom(append([]string{"", "0ld", "f0"}, ids(n)...)).Draw(t, "parent")
			lines = append(lines, entryLine(fmt.Sprintf("r%d", n), parent, strings.Repeat("x", n)))
		}
		for n := range rapid.IntRange(1, 3).Draw(t, "tries") {
			c := carry(t, log, strings.Join(lines, ""))
			before := branch(t, log)
			part := slices.Collect(strings.Lines(c.Text))
			part = part[:rapid.IntRange(0, len(part)).Draw(t, "cut")]
			log += strings.Join(part, "")
			if after := branch(t, log); len(part) > 0 && !slices.Equal(after[max(0, len(after)-len(before)):], before) {
				t.Fatalf("the context was %v and is %v in\n%s", before, after, log)
			}
			if path := branch(t, log); len(path) > 0 {
				leaf = path[0]
			}
			say(100 + n)
		}
		log += carry(t, log, strings.Join(lines, "")).Text
		if again := carry(t, log, strings.Join(lines, "")); again.Text != "" {
			t.Fatalf("carried again: %s", again.Text)
		}
		for _, line := range lines {
			if n := countButParent(t, log, line); n != 1 {
				t.Fatalf("%d times in the log: %s", n, line)
			}
		}
	})
}

func ids(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("r%d", i))
	}
	return all
}

// countButParent counts the lines that are this one up to its parent.
func countButParent(t rapid.TB, log, line string) int {
	var n node
	if err := json.Unmarshal([]byte(line), &n); err != nil {
		t.Fatal(err)
	}
	start, rest, _ := strings.Cut(line, `"parentId" : `)
	_, end, _ := strings.Cut(rest, ",")
	count := 0
	for other := range strings.Lines(log) {
		if strings.HasPrefix(other, start) && strings.HasSuffix(other, end) {
			count++
		}
	}
	return count
}

// After a power cut NULs can stand where a record was being written. What follows
// begins a line of its own: a runtime reads line by line.
func TestPiformatCarryBeginsALine(t *testing.T) {
	tail := entryLine("r1", "0ld", "one")
	for name, end := range map[string]string{"NULs": "\x00\x00\x00", "half a record": `{"type":"mess`} {
		t.Run(name, func(t *testing.T) {
			got := carry(t, carryHeader+entryLine("f1", "", "hello")+end, tail)
			if want := "\n" + entryLine("r1", "f1", "one"); got.Text != want {
				t.Errorf("%q, want %q", got.Text, want)
			}
		})
	}
	if got := carry(t, carryHeader+tail+"\x00", tail); got.Text != "" {
		t.Errorf("nothing is to be carried, but %q", got.Text)
	}
}
