package adapters_test

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
	"github.com/sessctl/sessctl/pkg/session/codex"
)

var changed = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func codexTailOf(t codexReporter, log []byte) session.Tail {
	t.Helper()
	got, err := codex.Tail(context.Background(), bytes.NewReader(log), int64(len(log)), 0, changed)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestCodexTailOfSamples(t *testing.T) {
	for _, c := range []struct {
		name     string
		tokens   int64
		source   string
		messages int
		answered bool
	}{
		{"real/codex/01-three-turns-tool.jsonl", 10_243, "usage", 11, true},
		{"real/codex/02-auto-compact.jsonl", 190_734, "usage", 19, true},
		{"codex/derived/archived_sessions/rollout-2026-07-01T10-00-00-019f8a11-7b21-7c3d-9e10-aabbccddee00.jsonl.zst", 26, "estimate", 7, true},
		{"codex/jazzyalex/large.jsonl", 12_350, "usage", 16, true},
		{"codex/deja-vu/rollout-2026-07-17T09-00-00-registry-codex.jsonl", 15, "estimate", 2, true},
		{"_malformed/codex-fork-copy.jsonl", 8, "estimate", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := codexTailOf(t, codexReadLog(t, samples.Beside(t, "samples/"+c.name)))
			if got.Tokens != c.tokens || got.TokenSource != c.source || got.Messages != c.messages || got.Answered != c.answered {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// After a compaction the turn failed: the context is what Codex counted then,
// 6,166 tokens, and the message that got no answer.
func TestCodexTailAfterACompaction(t *testing.T) {
	log := codexReadLog(t, samples.Beside(t, "samples/real/codex/rollout-2026-11-21T03-42-22-01a1fc32-ae0f-7cc0-b105-9609e89100ec.jsonl"))
	lines := bytes.SplitAfter(log, []byte("\n"))
	got := codexTailOf(t, bytes.Join(lines[:98], nil))
	if got.Tokens != 6_171 || got.TokenSource != session.TokensFromUsage || !got.Answered {
		t.Errorf("%+v", got)
	}
}

// Of a small rollout the tail counts what a scan counts.
func TestCodexTailCountsLikeTheScan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 30).Draw(r, "lines")
		log := []byte(strings.Join(append([]string{vocabulary[0]}, lines...), "\n") + "\n")
		r.Logf("log:\n%s", log)
		scan, _ := codexScanned(r, log)
		got := codexTailOf(r, log)
		if got.Messages != scan.Records || !got.MessagesExact {
			r.Fatalf("%d messages (exact %v), scan %d", got.Messages, got.MessagesExact, scan.Records)
		}
	})
}

func user(text string) string {
	return codexEntry("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"`+text+`"}]}`)
}

func codexAgent(text string) string {
	return codexEntry("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"`+text+`"}]}`)
}

func counted(total int) string {
	return codexEntry("event_msg", fmt.Sprintf(`{"type":"token_count","info":{"last_token_usage":{"total_tokens":%d},"total_token_usage":{"total_tokens":%d}}}`, total, 7*total))
}

const (
	call   = `{"timestamp":"2026-07-20T09:00:00Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"}}`
	output = `{"timestamp":"2026-07-20T09:00:00Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"123456789012345678901234567890"}}`
	begun  = `{"timestamp":"2026-07-20T09:00:00Z","type":"event_msg","payload":{"type":"task_started"}}`
	ended  = `{"timestamp":"2026-07-20T09:00:00Z","type":"event_msg","payload":{"type":"task_complete"}}`
	noInfo = `{"timestamp":"2026-07-20T09:00:00Z","type":"event_msg","payload":{"type":"token_count","info":null}}`
	undone = `{"timestamp":"2026-07-20T09:00:00Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}`
	summed = `{"timestamp":"2026-07-20T09:00:00Z","type":"compacted","payload":{"message":"123456","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"123456789"}]}]}}`
)

// The window is the one that the newest model call has told.
func TestCodexTailContextWindow(t *testing.T) {
	told := func(tokens, window int) string {
		return codexEntry("event_msg", fmt.Sprintf(`{"type":"token_count","info":{"last_token_usage":{"total_tokens":%d},"model_context_window":%d}}`, tokens, window))
	}
	for _, c := range []struct {
		lines  []string
		window int
	}{
		{[]string{user("a"), codexAgent("b"), told(5, 1000), user("c"), codexAgent("d"), told(9, 258_400), ended}, 258_400},
		{[]string{user("a"), codexAgent("b"), told(5, 1000), user("c"), codexAgent("d"), noInfo, ended}, 1000},
		{[]string{user("a"), codexAgent("b"), counted(5), ended}, 0},
		{[]string{user("a"), codexAgent("b"), told(5, 0), ended}, 0},
	} {
		log := []byte(strings.Join(append([]string{vocabulary[0]}, c.lines...), "\n") + "\n")
		if got := codexTailOf(t, log).ContextWindow; got != c.window {
			t.Errorf("%q: window %d, want %d", c.lines, got, c.window)
		}
	}
}

// Texts have three characters a token.
func TestCodexTailTokensAndTurn(t *testing.T) {
	for name, c := range map[string]struct {
		lines    []string
		tokens   int64
		answered bool
	}{
		"the count covers the answer before it":      {[]string{user("a"), codexAgent("b"), counted(100), ended}, 100, true},
		"what follows is estimated":                  {[]string{user("a"), codexAgent("b"), counted(100), user("123456")}, 102, false},
		"a result before its count is not in it":     {[]string{user("a"), call, output, counted(100)}, 110, false},
		"a result after it is not in it either":      {[]string{user("a"), call, counted(100), output}, 110, false},
		"a count of nothing says nothing":            {[]string{user("a"), codexAgent("b"), counted(100), noInfo}, 100, true},
		"a repeated count before the next answer":    {[]string{codexAgent("b"), counted(100), user("123456"), counted(100)}, 102, false},
		"a compaction counts anew":                   {[]string{user("a"), codexAgent("b"), counted(100), summed, user("123456")}, 5, false},
		"a count after the compaction":               {[]string{user("a"), codexAgent("b"), counted(100), summed, counted(40), user("123456")}, 42, false},
		"no count":                                   {[]string{user("123456"), codexAgent("123")}, 3, true},
		"a turn that was rolled back":                {[]string{user("123456"), codexAgent("123"), counted(50), user("x"), codexAgent("y"), counted(100), undone}, 50, true},
		"two turns rolled back, one after the other": {[]string{user("123456"), codexAgent("123"), user("x"), undone, user("y"), undone}, 3, true},
		"two turns rolled back at the end":           {[]string{user("123456"), codexAgent("123"), user("x"), codexAgent("y"), user("z"), undone, undone}, 3, true},
		"a turn that has begun":                      {[]string{codexAgent("b"), counted(9), begun}, 9, false},
		"a turn that failed":                         {[]string{user("123"), ended}, 1, true},
		"a comment on the way":                       {[]string{user("123"), strings.Replace(codexAgent("123"), `"role"`, `"phase":"commentary","role"`, 1)}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			log := strings.Join(append([]string{vocabulary[0]}, c.lines...), "\n") + "\n"
			got := codexTailOf(t, []byte(log))
			if got.Tokens != c.tokens || got.Answered != c.answered {
				t.Errorf("%d tokens, answered %v; want %d, %v", got.Tokens, got.Answered, c.tokens, c.answered)
			}
		})
	}
}

// The end of a large rollout is enough.
func TestCodexTailReadsTheEnd(t *testing.T) {
	var log bytes.Buffer
	log.WriteString(vocabulary[0] + "\n")
	messages := 0
	for log.Len() < 2<<20 {
		log.WriteString(user(strings.Repeat("long ", 40)) + "\n" + codexAgent("answer") + "\n" + counted(1000+messages) + "\n")
		messages += 2
	}
	r := &codexCountingReader{r: bytes.NewReader(log.Bytes())}
	got, err := codex.Tail(context.Background(), r, int64(log.Len()), 0, changed)
	if err != nil {
		t.Fatal(err)
	}
	if r.bytes > 64<<10 {
		t.Errorf("%d bytes were read", r.bytes)
	}
	if got.Tokens != int64(998+messages) || got.MessagesExact || got.Messages < messages*9/10 || got.Messages > messages*11/10 {
		t.Errorf("of %d messages: %+v", messages, got)
	}
}

type codexCountingReader struct {
	r     *bytes.Reader
	bytes int
}

func (c *codexCountingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.bytes += n
	return n, err
}
