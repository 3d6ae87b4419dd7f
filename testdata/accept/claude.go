package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// playClaude tries what docs/runtimes.md says of Claude Code: its log is archived
// and remembered and never changed, so that a session goes on as if nothing had
// been, and a log that it has deleted is put back, where it is resumed.
func playClaude(ctx context.Context, s *stage) {
	c := newClaude(s)
	c.turn(ctx, "Plan the bakery week, heron-basin")
	c.turn(ctx, "Which supplier has the best rye?", "--continue")
	same(s, "a second turn continues the first", c.sent("heron-basin", "best rye"), true)
	logs := c.logs()
	same(s, "there is one log", len(logs), 1)
	before, err := os.ReadFile(logs[0])
	s.must("read the log", err)
	time.Sleep(shortQuiet)

	done := s.compact(ctx, "--all", "--quiet-period", shortQuiet.String())
	s.became("it is archived and remembered", done, "partial")
	same(s, "every line is in the archive", contains(done.archive(), before), true)
	now, err := os.ReadFile(logs[0])
	same(s, "the log is not touched", err == nil && bytes.Equal(now, before), true)
	c.turn(ctx, "Who opens on Saturday, wren-copse?", "--continue")
	same(s, "the session goes on with all of it", c.sent("heron-basin", "best rye", "wren-copse"), true)
	now, err = os.ReadFile(logs[0])
	same(s, "in the same log", err == nil && bytes.HasPrefix(now, before) && len(c.logs()) == 1, true)

	id := strings.TrimSuffix(filepath.Base(logs[0]), ".jsonl")
	archive := c.archive(ctx)
	before, err = os.ReadFile(logs[0])
	s.must("read the log", err)
	s.must("delete the log, as Claude Code does after 30 days", os.Remove(logs[0]))
	_, err = s.output(ctx, s.home, s.sessctl, "restore", archive)
	s.must("restore the log", err)
	now, err = os.ReadFile(logs[0])
	same(s, "a log that was deleted comes back as it was", err == nil && bytes.Equal(now, before), true)
	c.turn(ctx, "And who closes, finch-lane?", "--resume", id)
	same(s, "and is resumed with all of it", c.sent("heron-basin", "wren-copse", "finch-lane"), true)
}

// claude is a home with the real Claude Code.
type claude struct {
	*stage
	dir    string
	before int // requests before the last turn
}

func newClaude(s *stage) *claude {
	c := &claude{stage: s, dir: filepath.Join(s.home, "work")}
	s.must("make a working directory", os.MkdirAll(c.dir, 0o700))
	return c
}

// turn lets Claude Code take one turn.
func (c *claude) turn(ctx context.Context, say string, args ...string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c.before, _ = c.model.requests()
	program := c.command(ctx, c.dir, filepath.Join(c.runtime.bin, "claude"), append([]string{"--model", "claude-sonnet-4-5"}, append(args, "-p", say)...)...)
	program.Env = append(program.Env,
		"ANTHROPIC_BASE_URL="+strings.TrimSuffix(c.model.url(), "/v1"), "ANTHROPIC_API_KEY=none",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1")
	var out bytes.Buffer
	program.Stdout, program.Stderr = &out, &out
	if err := program.Run(); err != nil {
		c.fail("a turn of claude", err.Error()+": "+lastLines(out.String()))
		panic(errGivenUp)
	}
}

// archive archives the only session and returns the archive's id.
func (c *claude) archive(ctx context.Context) string {
	out, err := c.output(ctx, c.home, c.sessctl, "archive", "--all", "--json")
	c.must("archive", err)
	var doc struct {
		Archives []struct {
			ID string `json:"id"`
		} `json:"archives"`
	}
	c.must("read what sessctl printed", json.Unmarshal(out, &doc))
	same(c.stage, "there is one session to archive", len(doc.Archives), 1)
	if len(doc.Archives) == 0 {
		panic(errGivenUp)
	}
	return doc.Archives[0].ID
}

// sent reports whether one request of the last turn had all these words. Claude
// Code asks for other things beside the turn, a title say.
func (c *claude) sent(words ...string) bool {
	return slices.ContainsFunc(c.model.since(c.before), func(r request) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !r.has(word) })
	})
}

// logs are the logs of sessions.
func (c *claude) logs() []string {
	found, err := filepath.Glob(filepath.Join(c.home, ".claude", "projects", "*", "*.jsonl"))
	c.must("look for logs", err)
	return found
}

// playClaudeOutputs lets a tool print more than Claude Code keeps in its log: what
// it puts into a file beside it is archived with the session and found again.
func playClaudeOutputs(ctx context.Context, s *stage) {
	c := newClaude(s)
	c.turn(ctx, "Look at the mill.\nCALL Bash {\"command\": \"seq 100000 106000; echo heron-$((4700+11))-basin; seq 200000 206000\"}", "--allowedTools", "Bash")
	outputs, err := filepath.Glob(filepath.Join(c.home, ".claude", "projects", "*", "*", "tool-results", "*"))
	s.must("look for outputs", err)
	same(s, "Claude Code has put the output into a file", len(outputs), 1)
	if len(outputs) != 1 {
		return
	}
	output, err := os.ReadFile(outputs[0])
	s.must("read the output", err)
	log, err := os.ReadFile(c.logs()[0])
	s.must("read the log", err)
	const word = "heron-4711-basin"
	same(s, "which has what the log has not", bytes.Contains(output, []byte(word)) && !bytes.Contains(log, []byte(word)), true)

	out, err := s.output(ctx, s.home, s.sessctl, "archive", "--all", "--remember", "--json")
	s.must("archive it", err)
	same(s, "it is in an archive, byte for byte", s.isArchived(ctx, output), true)
	same(s, "nothing of it is left out", bytes.Contains(out, []byte(`"left_out_bytes":0`)) || !bytes.Contains(out, []byte("left_out_bytes")), true)
	same(s, "and found in memory", s.recalls(ctx, word), true)
	now, err := os.ReadFile(outputs[0])
	same(s, "the file is not touched", err == nil && bytes.Equal(now, output), true)
}

// isArchived reports whether an archive has exactly these bytes.
func (s *stage) isArchived(ctx context.Context, want []byte) bool {
	for _, id := range s.archives(ctx) {
		if out, err := s.output(ctx, s.home, s.sessctl, "archives", "show", id, "--raw"); err == nil && bytes.Equal(out, want) {
			return true
		}
	}
	return false
}
