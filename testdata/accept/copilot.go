package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// playCopilot trims a session of Copilot CLI in which tools ran, a turn was broken
// off and the program has compacted by itself: resumed, the program sends what it
// would have sent before.
func playCopilot(ctx context.Context, s *stage) {
	c := newCopilot(s)
	c.turn(ctx, "Plan the bakery week, heron-basin-4711")
	c.turn(ctx, "List it, wren-copse.\nCALL bash {\"command\":\"echo otter-weir\",\"description\":\"say it\"}", "--continue")
	c.breakOff(ctx, "Count the sacks slow20", "--continue")
	c.turn(ctx, "/compact keep the orders", "--continue")
	c.turn(ctx, "And who opens on Saturday, finch-lane?", "--continue")
	log := c.log()
	before, err := os.ReadFile(log)
	s.must("read the log", err)
	same(s, "the program has compacted it", bytes.Contains(before, []byte(`"session.compaction_complete"`)), true)
	same(s, "a turn was broken off", bytes.Contains(before, []byte(`"type":"abort"`)), true)
	_, last := s.model.requests()
	same(s, "its size is what the model counted", c.tokens(ctx), 100*last.Users+12)

	replayed, err := s.output(ctx, s.home, s.sessctl, "replay-context", "--file", log, "--format", "text")
	s.must("replay it", err)
	c.turn(ctx, "What is left, newt-hollow?", "--continue")
	want := c.sent()
	same(s, "what it sends is replayed", c.missing(string(replayed)), "")
	same(s, "a resume sends what followed the compaction", strings.Contains(want, "finch-lane") && strings.Contains(want, "newt-hollow"), true)
	s.must("put the log back", os.WriteFile(log, before, 0o600))

	running := c.command(ctx, "--continue", "-p", "Wait for it slow20")
	s.start(running)
	for range 100 {
		if found, _ := filepath.Glob(filepath.Join(filepath.Dir(log), "inuse.*.lock")); len(found) > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.wait(before)
	now, err := os.ReadFile(log)
	s.must("read the log", err)
	same(s, "a session that is open is busy: exit 75", s.compact(ctx, "--all", "--quiet-period", "1ms").exit, 75)
	after, err := os.ReadFile(log)
	same(s, "and is not touched", err == nil && bytes.Equal(after, now), true)
	s.stop(running)
	s.must("put the log back", os.WriteFile(log, before, 0o600))

	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--all", "--quiet-period", shortQuiet.String())
	s.became("a session that is closed is trimmed", done, "compacted")
	same(s, "every line is in the archive", contains(done.archive(), before), true)
	after, err = os.ReadFile(log)
	same(s, "less than half of the log stays", err == nil && len(after) < len(before)/2, true)
	c.turn(ctx, "What is left, newt-hollow?", "--continue")
	same(s, "a resume sends the same", c.sent() == want, true)

	s.must("put the trimmed log back", os.WriteFile(log, after, 0o600))
	time.Sleep(shortQuiet)
	_, err = s.output(ctx, s.home, s.sessctl, "undo", done.receipt(), "--quiet-period", "1ms")
	s.must("undo", err)
	now, err = os.ReadFile(log)
	same(s, "an undo brings back every byte", err == nil && bytes.Equal(now, before), true)
	c.turn(ctx, "What is left, newt-hollow?", "--continue")
	same(s, "and a resume sends the same", c.sent() == want, true)
	same(s, "what was said before the compaction is in memory no more than before", s.recalls(ctx, "heron-basin-4711"), false)
}

// copilot is a home with the real Copilot CLI.
type copilot struct {
	*stage
	dir    string
	before int // requests before the last turn
}

func newCopilot(s *stage) *copilot {
	c := &copilot{stage: s, dir: filepath.Join(s.home, "work")}
	s.must("make a working directory", errors.Join(os.MkdirAll(c.dir, 0o700), os.MkdirAll(filepath.Join(s.home, "tmp"), 0o700)))
	return c
}

// command makes a run of the program on the model, without a login.
func (c *copilot) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{"--allow-all-tools", "--allow-all-paths", "--disable-builtin-mcps", "--no-auto-update"}, args...)
	run := c.stage.command(ctx, c.dir, c.program(), args...)
	run.Env = append(run.Env, "COPILOT_PROVIDER_BASE_URL="+c.model.url(), "COPILOT_PROVIDER_API_KEY=none", "COPILOT_MODEL="+modelName,
		"COPILOT_PROVIDER_MAX_PROMPT_TOKENS=200000", "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS=8192", "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false")
	return run
}

// program is the program itself: the script that npm puts before it passes no
// signal on.
func (c *copilot) program() string {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(c.runtime.bin), "@github", "copilot-*", "copilot"))
	if err != nil || len(found) == 0 {
		return filepath.Join(c.runtime.bin, "copilot")
	}
	return found[0]
}

// turn lets Copilot take one turn.
func (c *copilot) turn(ctx context.Context, say string, args ...string) {
	c.before, _ = c.model.requests()
	run := c.command(ctx, append(args, "-p", say)...)
	out, err := run.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLines(string(out)))
	}
	c.must("a turn of copilot", err)
}

// breakOff interrupts a turn once the model was asked.
func (c *copilot) breakOff(ctx context.Context, say string, args ...string) {
	c.before, _ = c.model.requests()
	run := c.command(ctx, append(args, "-p", say)...)
	c.must("start copilot", run.Start())
	for n := c.before; n == c.before; n, _ = c.model.requests() {
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(time.Second)
	c.must("interrupt copilot", run.Process.Signal(os.Interrupt))
	_ = run.Wait() // a program that was interrupted says so
}

// wait waits until a running program has written to its log.
func (c *copilot) wait(before []byte) {
	for range 100 {
		if info, err := os.Stat(c.log()); err == nil && info.Size() > int64(len(before)) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// log is that of the only session.
func (c *copilot) log() string {
	found, err := filepath.Glob(filepath.Join(c.home, ".copilot", "session-state", "*", "events.jsonl"))
	c.must("look for sessions", err)
	if len(found) != 1 {
		c.must("look for sessions", fmt.Errorf("there are %d", len(found)))
	}
	return found[0]
}

// tokens is the size of the session as sessctl sees it.
func (c *copilot) tokens(ctx context.Context) int {
	out, err := c.output(ctx, c.home, c.sessctl, "sizes", "--json")
	c.must("measure it", err)
	var doc struct {
		Sessions []struct {
			Tokens int `json:"tokens"`
		} `json:"sessions"`
	}
	c.must("read sizes", json.Unmarshal(out, &doc))
	if len(doc.Sessions) != 1 {
		return -1
	}
	return doc.Sessions[0].Tokens
}

// missing is the first line of what the last turn sent that a replay lacks, "" if
// it has all: but for the time, what Copilot puts around a summary, and the turn's
// own question.
func (c *copilot) missing(replayed string) string {
	said := c.model.since(c.before)[0].said
	for _, m := range said[:len(said)-1] {
		for line := range strings.Lines(m.text) {
			line = strings.TrimSpace(line)
			own := strings.HasPrefix(line, "<") || strings.HasPrefix(line, "Some of the conversation history") ||
				strings.HasPrefix(line, "You were originally given") || strings.HasPrefix(line, "Here is a summary")
			if !own && !strings.Contains(replayed, line) {
				return line
			}
		}
	}
	return ""
}

// times are what a request has that is new each time.
var times = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// sent is the first request of the last turn, without times.
func (c *copilot) sent() string {
	all := c.model.since(c.before)
	if len(all) == 0 {
		return "nothing"
	}
	return times.ReplaceAllString(string(all[0].messages), "TIME")
}
