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
	fresh, err := os.ReadFile(log)
	same(s, "a log of one line has taken its place", err == nil && bytes.Count(fresh, []byte("\n")) == 1 && len(p.logs()) == 1, true)

	p.turn(ctx, "Plan the next week", "-c")
	same(s, "the next turn is fresh", p.users(), 1)
	now, err = os.ReadFile(log)
	same(s, "in that log", err == nil && bytes.HasPrefix(now, fresh) && len(p.logs()) == 1, true)
	p.turn(ctx, "And the week after?", "-c")
	same(s, "which pi continues", p.users(), 2)
	time.Sleep(shortQuiet)
	again := s.compact(ctx, "--all", "--strategy", "rotate", "--quiet-period", shortQuiet.String())
	s.became("it is rotated in its turn", again, "compacted")
	_, err = s.output(ctx, s.home, s.sessctl, "undo", again.receipt(), "--quiet-period", "1ms")
	s.must("undo", err)
	p.turn(ctx, "And after that?", "-c")
	same(s, "and pi continues it", p.users(), 3)
}

// playPiOlder tries the rotation of a session in whose directory lies an older
// one, which `pi -c` must not go back to.
func playPiOlder(ctx context.Context, s *stage) {
	p := newPi(s)
	p.turn(ctx, "Last month, about taxes")
	p.turn(ctx, "More about taxes", "-c")
	older := p.logs()[0]
	before, err := os.ReadFile(older)
	s.must("read the older log", err)
	time.Sleep(1100 * time.Millisecond) // pi names logs by the millisecond, and goes by their times
	p.turn(ctx, "Today, about bread")
	p.turn(ctx, "More bread", "-c")
	same(s, "there are two sessions", len(p.logs()), 2)
	time.Sleep(shortQuiet)
	for range 2 {
		done := s.compact(ctx, "--all", "--strategy", "rotate", "--quiet-period", shortQuiet.String())
		same(s, "rotated, or nothing to do", done.exit, 0)
	}
	now, err := os.ReadFile(older)
	same(s, "the older session is not touched", err == nil && bytes.Equal(now, before), true)
	p.turn(ctx, "After the rotation", "-c")
	same(s, "the next turn is fresh", p.users(), 1)
	p.turn(ctx, "And again", "-c")
	same(s, "and is continued", p.users(), 2)
	now, err = os.ReadFile(older)
	same(s, "the older session is not touched", err == nil && bytes.Equal(now, before), true)
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
		"models": []object{piModel(modelName), piModel(otherModel)},
	}
	s.must("write a configuration", writeFile(filepath.Join(agent, "models.json"), object{"providers": object{"mock": provider}}))
	return p
}

// otherModel is the same model under another name, to change to.
const otherModel = "mock-small"

func piModel(name string) object {
	return object{
		"id": name, "reasoning": false, "input": []string{"text", "image"}, "contextWindow": 200_000, "maxTokens": 8192,
		"cost": object{"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
	}
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
