package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hermesVersion is that of PyPI's hermes-agent.
const hermesVersion = "0.19.0"

// fetchPip installs a program from PyPI into an environment of its own, unless this
// version of it is there, and returns the directory of its programs.
func fetchPip(ctx context.Context, cache, name, version string) (string, error) {
	dir := filepath.Join(cache, name+"-"+version)
	bin := filepath.Join(dir, "bin")
	mark := filepath.Join(dir, "installed")
	if _, err := os.Stat(mark); err == nil {
		return bin, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	fmt.Printf("installing %s %s into %s\n", name, version, dir)
	for _, step := range [][]string{{"python3", "-m", "venv", dir}, {filepath.Join(bin, "pip"), "install", "--quiet", name + "==" + version}} {
		if out, err := exec.CommandContext(ctx, step[0], step[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", strings.Join(step, " "), err, lastLines(string(out)))
		}
	}
	return bin, os.WriteFile(mark, nil, 0o600)
}

// hermes is a home with the real Hermes.
type hermes struct {
	*stage
	dir string
}

func newHermes(s *stage) *hermes {
	h := &hermes{s, filepath.Join(s.home, "work")}
	home := filepath.Join(s.home, ".hermes")
	s.must("make directories", errors.Join(os.MkdirAll(h.dir, 0o700), os.MkdirAll(home, 0o700)))
	s.must("write a configuration", writeFile(filepath.Join(home, "config.yaml"), object{"model": object{ // JSON is YAML
		"default": modelName, "provider": "custom", "base_url": s.model.url(), "api_key": "none", "context_length": 200_000,
	}}))
	return h
}

// turn lets Hermes take one turn.
func (h *hermes) turn(ctx context.Context, say string, args ...string) {
	args = append([]string{"chat", "--quiet", "--yolo"}, args...)
	_, err := h.output(ctx, h.dir, filepath.Join(h.runtime.bin, "hermes"), append(args, "--query", say)...)
	h.must("a turn of hermes", err)
}

// lists reports whether Hermes lists a session.
func (h *hermes) lists(ctx context.Context, id string) bool {
	out, err := h.output(ctx, h.dir, filepath.Join(h.runtime.bin, "hermes"), "sessions", "list")
	h.must("have hermes list its sessions", err)
	return strings.Contains(string(out), id)
}

// age makes all sessions two months older.
func (h *hermes) age(ctx context.Context) {
	const older = `import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE sessions SET started_at = started_at - 5184000, ended_at = coalesce(ended_at, started_at) - 5184000")
db.execute("UPDATE messages SET timestamp = timestamp - 5184000")
db.commit()`
	_, err := h.output(ctx, h.dir, filepath.Join(h.runtime.bin, "python"), "-c", older, filepath.Join(h.home, ".hermes", "state.db"))
	h.must("make the sessions older", err)
}

// playHermes has the real Hermes prune a session that was archived, and go on with it
// once it is restored.
func playHermes(ctx context.Context, s *stage) {
	h := newHermes(s)
	h.turn(ctx, "Plan the bakery week, heron-basin-4711")
	id := s.sessionOf(ctx, "hermes")
	replayed := s.replayed(ctx, "hermes")
	since, _ := s.model.requests()
	h.turn(ctx, "Which rye, wren-copse?", "--resume", id)
	sent, err := s.turnOf(since, "wren-copse")
	s.must("find the request", err)
	replayed = slices.DeleteFunc(replayed, func(p piece) bool { return strings.HasPrefix(p.text, "You are Hermes Agent") })
	why, excused := unequal("hermes", replayed, sent)
	s.report.excuse(excused)
	same(s, "what it sends is replayed", why, "")
	h.age(ctx)
	_, err = s.output(ctx, s.home, s.sessctl, "archive", "--all", "--remember")
	s.must("archive it", err)
	same(s, "what was said is found", s.recalls(ctx, "heron-basin-4711"), true)

	time.Sleep(shortQuiet)
	_, err = s.output(ctx, s.home, s.sessctl, "shrink", "sessions", "--runtime", "hermes", "--older-than", "30d", "--quiet-period", shortQuiet.String())
	s.must("shrink by its own prune", err)
	same(s, "hermes does not list it", h.lists(ctx, id), false)
	_, err = s.output(ctx, s.home, s.sessctl, "restore", id)
	s.must("restore it", err)
	same(s, "hermes lists it again", h.lists(ctx, id), true)
	since, _ = s.model.requests()
	h.turn(ctx, "And who closes, finch-lane?", "--resume", id)
	sent, err = s.turnOf(since, "finch-lane")
	s.must("find the request", err)
	texts := fmt.Sprint(sent)
	same(s, "and goes on with all of it", strings.Contains(texts, "heron-basin-4711") && strings.Contains(texts, "wren-copse"), true)
	_, err = s.output(ctx, s.home, s.sessctl, "archives", "verify")
	same(s, "nothing is damaged", err, nil)
}
