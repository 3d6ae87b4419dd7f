package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// playPi tries the rotation of a session of pi.
func playPi(ctx context.Context, s *stage) {
	p := newPi(s)
	p.turn(ctx, "Plan the bakery week")
	p.turn(ctx, "Which supplier has the best rye?", "-c")
	p.turn(ctx, "Who opens on Saturday?", "-c")
	same(s, "three turns are one session", p.users(), 3)
	same(s, "which has one log", len(p.logs()), 1)
	log := p.logs()[0]
	before, err := os.ReadFile(log)
	s.must("read the log", err)

	same(s, "a log that was just written is busy: exit 75", s.compact(ctx, "--all", "--strategy", "rotate").exit, 75)
	now, err := os.ReadFile(log)
	same(s, "and is not touched", err == nil && bytes.Equal(now, before), true)

	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--all", "--strategy", "rotate", "--quiet-period", shortQuiet.String())
	s.became("an idle session is rotated", done, "compacted")
	same(s, "every line is in the archive", contains(done.archive(), before), true)
	same(s, "no log is left", len(p.logs()), 0)

	p.turn(ctx, "Plan the next week", "-c")
	same(s, "the next turn is fresh", p.users(), 1)
	_, err = os.Lstat(log)
	same(s, "the old log is not made again", os.IsNotExist(err), true)
	same(s, "there is one new log", len(p.logs()), 1)
	p.turn(ctx, "And the week after?", "-c")
	same(s, "which pi continues", p.users(), 2)
}

// playPiOverlay tries a summary that is appended to a session of pi.
func playPiOverlay(ctx context.Context, s *stage) {
	p := newPi(s)
	p.turn(ctx, "Plan the bakery week. "+strings.Repeat("The mill sends spelt on Monday and rye on Thursday. ", 100))
	for _, say := range []string{"Which supplier has the best rye?", "Who opens on Saturday?"} {
		p.turn(ctx, say, "-c")
	}
	log := p.logs()[0]
	before, err := os.ReadFile(log)
	s.must("read the log", err)
	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--all", "--strategy", "overlay", "--keep-recent-tokens", "25", "--quiet-period", shortQuiet.String())
	s.became("older turns are summed up", done, "compacted")
	p.turn(ctx, "Who closes?", "-c")
	// the summary, one kept turn and the new one
	same(s, "the next turn sees the summary for what was said", p.users(), 3)
	after, err := os.ReadFile(log)
	same(s, "the same log goes on", err == nil && bytes.HasPrefix(after, before) && len(p.logs()) == 1, true)
}

// shortQuiet is a quiet period that a test can wait for.
const shortQuiet = 500 * time.Millisecond

// pi is a working directory with the real pi.
type pi struct {
	*stage
	dir string
}

func newPi(s *stage) *pi {
	p := &pi{stage: s, dir: filepath.Join(s.home, "work")}
	s.must("make a working directory", os.MkdirAll(p.dir, 0o700))
	agent := filepath.Join(s.home, ".pi", "agent")
	s.must("make a configuration", os.MkdirAll(agent, 0o700))
	provider := object{
		"baseUrl": s.model.url(), "api": "openai-completions", "apiKey": "none",
		"models": []object{{
			"id": modelName, "reasoning": false, "input": []string{"text"}, "contextWindow": 200_000, "maxTokens": 8192,
			"cost": object{"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
		}},
	}
	s.must("write a configuration", writeFile(filepath.Join(agent, "models.json"), object{"providers": object{"mock": provider}}))
	return p
}

func writeFile(path string, value object) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// turn lets pi take one turn.
func (p *pi) turn(ctx context.Context, say string, args ...string) {
	args = append([]string{"--provider", "mock", "--model", modelName}, append(args, "-p", say)...)
	before, _ := p.model.requests()
	_, err := p.output(ctx, p.dir, filepath.Join(p.runtime.bin, "pi"), args...)
	p.must("a turn of pi", err)
	if after, _ := p.model.requests(); after == before {
		p.fail("a turn of pi", "the model was not asked")
	}
}

// users is how many user messages the model saw in its last request.
func (s *stage) users() int {
	_, last := s.model.requests()
	return last.Users
}

// logs are the session logs that pi can see.
func (p *pi) logs() []string {
	found, err := filepath.Glob(filepath.Join(p.home, ".pi", "agent", "sessions", "*", "*.jsonl"))
	p.must("look for logs", err)
	return found
}
