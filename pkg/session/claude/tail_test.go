package claude

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
)

// The figures are of the records themselves: the last call's four counts and a
// third of the characters after it.
func TestTailOfSamples(t *testing.T) {
	for name, want := range map[string]struct {
		tokens   int64
		source   string
		messages int
		answered bool
	}{
		"real/claude-code/01-four-turns-tool.jsonl":    {11_662 + 17_491 + 29, session.TokensFromUsage, 15, true},
		"real/claude-code/02-after-compact.jsonl":      {0, session.TokensFromEstimate, 19, true},
		"real/claude-code/03-turn-after-compact.jsonl": {11_724 + 17_585 + 24, session.TokensFromUsage, 23, true},
		"real/claude-code/04-grow.jsonl":               {83_812 + 125_716 + 30, session.TokensFromUsage, 31, true},
		"real/claude-code/05-error.jsonl":              {83_812 + 125_716 + 30 + 5, session.TokensFromUsage, 33, true},
		"_malformed/claude-split-message.jsonl":        {10 + 5 + 41, session.TokensFromUsage, 4, false},
		"_malformed/claude-phantom-parent.jsonl":       {10 + 5 + 1, session.TokensFromUsage, 2, true},
		"_malformed/claude-summary-only.jsonl":         {0, session.TokensFromEstimate, 0, true},
		"_malformed/claude-foreign-session-id.jsonl":   {1, session.TokensFromEstimate, 1, false},
	} {
		got := newHome(t).tail(samples.Read(t, name))
		if want.tokens == 0 {
			want.tokens = got.Tokens // held by another test
		}
		if got.Tokens != want.tokens || got.TokenSource != want.source || got.Messages != want.messages || !got.MessagesExact || got.Answered != want.answered {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// After a compaction the context is the summary, what it kept and what
// follows, and the prompt and tools that the first call counted.
func TestTailAfterCompaction(t *testing.T) {
	got := newHome(t).tail(samples.Read(t, "real/claude-code/02-after-compact.jsonl"))
	if got.Tokens < 29_000 || got.Tokens > 29_600 { // the next call counts 29,309
		t.Errorf("%d tokens", got.Tokens)
	}
	costly := func(id, parent, reply string) string {
		return rec("assistant", id, parent, `,"message":{"id":"`+reply+`","content":[{"type":"text","text":"said"}],"usage":{"input_tokens":90000,"output_tokens":1}}`)
	}
	bound := func(kept string) string {
		return `{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"a2","compactMetadata":{"trigger":"auto"` + kept + `}}`
	}
	const prompt = 90_000 - 1000 // the first call, less the user's 3,000 characters before it
	sum := rec("user", "s", "b", text("", strings.Repeat("abc", 100)), `,"isCompactSummary":true`)
	before := []string{rec("user", "u1", "", text("", strings.Repeat("abc", 1000))), costly("a1", "u1", "m1"), rec("user", "u2", "a1", text("", strings.Repeat("abc", 20))), costly("a2", "u2", "m2")}
	for name, c := range map[string]struct {
		more     []string
		tokens   int64
		answered bool
	}{
		"nothing kept":       {[]string{bound(""), sum}, prompt + 100, false},
		"a stretch kept":     {[]string{bound(`,"preservedSegment":{"headUuid":"u2","tailUuid":"a2"}`), sum}, prompt + 100 + 20 + 2, false},
		"a turn after it":    {[]string{bound(""), sum, rec("user", "u3", "s", text("", strings.Repeat("abc", 7)))}, prompt + 107, false},
		"a reply after it":   {[]string{bound(""), sum, costly("a3", "s", "m3")}, 90_001, true},
		"without a boundary": {[]string{strings.Replace(sum, `"b"`, `"a2"`, 1)}, prompt + 100, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := newHome(t).tail(logOf(append(before[:4:4], c.more...)...))
			if got.Tokens != c.tokens || got.Answered != c.answered {
				t.Errorf("%+v, want %d tokens, answered %v", got, c.tokens, c.answered)
			}
		})
	}
}

func TestTailTurns(t *testing.T) {
	question := rec("user", "u1", "", text("", "one"))
	for name, c := range map[string]struct {
		log      []string
		answered bool
	}{
		"a question":           {[]string{question}, false},
		"an answer":            {[]string{question, rec("assistant", "a1", "u1", text("m", "two"))}, true},
		"a thought":            {[]string{question, rec("assistant", "a1", "u1", `,"message":{"id":"m","content":[{"type":"thinking","thinking":"hm"}]}`)}, false},
		"a call":               {[]string{question, rec("assistant", "a1", "u1", call("m", "t"))}, false},
		"a text before a call": {[]string{question, rec("assistant", "a1", "u1", `,"message":{"id":"m","stop_reason":"tool_use","content":[{"type":"text","text":"I look."}]}`)}, false},
		"a result":             {[]string{question, rec("assistant", "a1", "u1", call("m", "t")), rec("user", "r1", "a1", answer("t"))}, false},
		"an error":             {[]string{question, rec("assistant", "a1", "u1", text("m", "API Error"), `,"isApiErrorMessage":true`)}, true},
		"stopped":              {[]string{question, rec("user", "u2", "u1", text("", "[Request interrupted by user]"))}, true},
		"a note after it":      {[]string{question, rec("assistant", "a1", "u1", text("m", "two")), rec("system", "n1", "a1", "")}, true},
		"a late note":          {[]string{question, rec("assistant", "a1", "u1", text("m", "two")), rec("progress", "n1", "u1", "")}, true},
		"a command":            {[]string{question, rec("assistant", "a1", "u1", text("m", "two")), rec("user", "u2", "a1", text("", "<command-name>/cost</command-name>")), rec("user", "u3", "u2", text("", "<local-command-stdout>1 franc</local-command-stdout>"))}, true},
		"a command for the model": {[]string{question, rec("assistant", "a1", "u1", text("m", "two")), rec("user", "u2", "a1", text("", "<command-name>/init</command-name>")),
			rec("user", "u3", "u2", text("", "Look at the code."), `,"isMeta":true`)}, false},
		"typed meanwhile":  {[]string{question, rec("assistant", "a1", "u1", text("m", "two")), rec("attachment", "q1", "a1", `,"attachment":{"type":"queued_command","prompt":"and this"}`)}, false},
		"a file with it":   {[]string{question, rec("attachment", "f1", "u1", `,"attachment":{"type":"file","content":{"file":{"content":"x"}}}`)}, false},
		"a file, answered": {[]string{question, rec("attachment", "f1", "u1", `,"attachment":{"type":"file","content":{"file":{"content":"x"}}}`), rec("assistant", "a1", "f1", text("m", "two"))}, true},
		"a sub-agent":      {[]string{question, rec("assistant", "a1", "u1", text("m", "two")), rec("user", "s1", "", text("", "task"), inSidechain)}, true},
		"another branch":   {[]string{question, rec("user", "u2", "u1", text("", "more")), rec("assistant", "a1", "u1", text("m", "two"))}, true},
		"nothing but mode": {[]string{`{"type":"mode","mode":"normal","sessionId":"s"}`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newHome(t).tail(logOf(c.log...)); got.Answered != c.answered {
				t.Errorf("%+v, want answered %v", got, c.answered)
			}
		})
	}
}

// Results of parallel calls are dead ends of the tree, and in the context.
func TestTailCountsParallelResults(t *testing.T) {
	usage := func(id, parent, tool string) string {
		return rec("assistant", id, parent, `,"message":{"id":"m1","content":[{"type":"tool_use","id":"`+tool+`","name":"Read","input":{}}],"usage":{"input_tokens":1000}}`)
	}
	result := func(id, parent, tool string) string {
		return rec("user", id, parent, `,"message":{"content":[{"type":"tool_result","tool_use_id":"`+tool+`","content":"`+strings.Repeat("abc", 50)+`"}]}`)
	}
	log := logOf(rec("user", "u1", "", text("", "one")), usage("c1", "u1", "t1"), usage("c2", "c1", "t2"), usage("c3", "c2", "t3"),
		result("r2", "c2", "t2"), result("r1", "c1", "t1"), result("r3", "c3", "t3"), rec("user", "u2", "r3", text("", "abc")))
	if got := newHome(t).tail(log); got.Tokens != 1000+3*50+1 {
		t.Errorf("%+v, want 1151 tokens", got)
	}
}

// Sizes must not read whole logs: the end is enough however long they are.
func TestTailReadsLittle(t *testing.T) {
	var log bytes.Buffer
	parent := ""
	for i := range 4000 {
		log.WriteString(rec("user", fmt.Sprint("u", i), parent, text("", "question "+strings.Repeat("x", 900))) + "\n")
		log.WriteString(rec("assistant", fmt.Sprint("a", i), fmt.Sprint("u", i), fmt.Sprintf(`,"message":{"id":"m%d","content":"answer","usage":{"input_tokens":%d}}`, i, i+1)) + "\n")
		parent = fmt.Sprint("a", i)
	}
	r := &countingReader{r: bytes.NewReader(log.Bytes())}
	got, err := newTailReader(int64(log.Len())).tail(context.Background(), r, time.Now())
	if err != nil || got.Tokens != 4000 || got.MessagesExact || got.Messages < 7600 || got.Messages > 8400 {
		t.Errorf("%+v, %v", got, err)
	}
	if r.bytes > 64<<10 {
		t.Errorf("%d of %d bytes were read", r.bytes, log.Len())
	}
	h := newHome(t)
	h.write("projects/-w/s.jsonl", log.Bytes())
	s := h.store()
	if n, err := s.CountMessages(context.Background(), h.ref(s, "s")); n != 8000 || err != nil {
		t.Errorf("%d messages, %v", n, err)
	}
}

type countingReader struct {
	r     *bytes.Reader
	bytes int64
}

func (c *countingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.r.ReadAt(p, at)
	c.bytes += int64(n)
	return n, err
}

// Both readers agree: on the number of messages, and on the tokens wherever
// the scan, with its branches, can tell them.
func TestTailAgreesWithScan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &writer{T: rt}
		last := ""
		for range rapid.IntRange(1, 6).Draw(rt, "turns") {
			last, _ = w.turn(last)
		}
		log := logOf(w.log...)
		scan, err := Open(".").Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(*session.Message) error { return nil })
		if err != nil {
			rt.Fatal(err)
		}
		var sum int64
		_, _ = Open(".").Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{Tree: scan.Tree}, func(m *session.Message) error {
			if !m.OutOfContext && m.Branch == session.Active {
				sum += m.EstimateTokens()
			}
			return nil
		})
		got := newHome(t).tail(log)
		if got.Messages != scan.Records || got.Tokens != sum || !got.Answered {
			rt.Fatalf("tail %+v, scan %d records, %d tokens\n%s", got, scan.Records, sum, log)
		}
	})
}
