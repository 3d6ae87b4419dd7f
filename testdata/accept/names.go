package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// otherLetters is a working directory that is not named in ASCII.
const otherLetters = "Zoë-🦞-研究"

// playPiLetters rotates a session in a directory that is not named in ASCII: its
// agent has that name, and is asked for by it.
func playPiLetters(ctx context.Context, s *stage) {
	p := newPi(s)
	p.dir = filepath.Join(s.home, otherLetters)
	s.must("make a working directory", os.MkdirAll(p.dir, 0o700))
	p.turn(ctx, "Plan the bakery week, heron-basin-4711")
	p.turn(ctx, "Which supplier has the best rye?", "-c")
	agent := s.agentNamed(ctx)
	same(s, "two turns are one session", p.users(), 2)
	log := p.logs()[0]
	before, err := os.ReadFile(log)
	s.must("read the log", err)
	done := s.compact(ctx, "--agent", agent, "--strategy", "rotate", "--quiet-period", "1ms")
	s.became("it is rotated by the name of its agent", done, "compacted")
	same(s, "every line is in the archive", contains(done.archive(), before), true)
	same(s, "memory finds it by the name", s.recallsOf(ctx, agent, "heron-basin-4711"), true)
	p.turn(ctx, "Plan the next week", "-c")
	same(s, "the next turn is fresh", p.users(), 1)
	_, err = s.output(ctx, s.home, s.sessctl, "undo", done.receipt(), "--force", "--quiet-period", "1ms")
	s.must("undo", err)
	now, err := os.ReadFile(log)
	same(s, "undo puts the session back", err == nil && strings.HasPrefix(string(now), string(before)), true)
}

// playClaudeLetters is the same with Claude Code, whose own name of the directory
// has lost every letter that is not one of ASCII.
func playClaudeLetters(ctx context.Context, s *stage) {
	c := newClaude(s)
	c.dir = filepath.Join(s.home, otherLetters)
	s.must("make a working directory", os.MkdirAll(c.dir, 0o700))
	c.turn(ctx, "Plan the bakery week, heron-basin-4711")
	same(s, "Claude Code's own directory has none of the letters", strings.Contains(c.logs()[0], otherLetters), false)
	s.keptByName(ctx)
	c.turn(ctx, "Which supplier has the best rye?", "--continue")
	same(s, "the session goes on", c.sent("heron-basin-4711", "best rye"), true)
}

// playCodexLetters is the same with Codex.
func playCodexLetters(ctx context.Context, s *stage) {
	c := newCodex(s, otherLetters, "")
	c.turn(ctx, "Plan the bakery week, heron-basin-4711")
	s.keptByName(ctx)
	c.turn(ctx, "Which supplier has the best rye?", "resume", "--last")
	same(s, "the session goes on", c.sent("heron-basin-4711", "best rye"), true)
}

// keptByName archives and remembers the only session by the name of its agent.
func (s *stage) keptByName(ctx context.Context) {
	agent := s.agentNamed(ctx)
	_, err := s.output(ctx, s.home, s.sessctl, "archive", "--agent", agent, "--remember")
	s.must("archive by the name", err)
	same(s, "memory finds it by the name", s.recallsOf(ctx, agent, "heron-basin-4711"), true)
}

// agentNamed is the name of the only agent, which has all letters of the
// directory.
func (s *stage) agentNamed(ctx context.Context) string {
	out, err := s.output(ctx, s.home, s.sessctl, "sizes", "--json")
	s.must("ask for the sizes", err)
	var doc struct {
		Sessions []struct {
			Agent string `json:"agent"`
		} `json:"sessions"`
	}
	s.must("read what sessctl printed", json.Unmarshal(out, &doc))
	if len(doc.Sessions) != 1 {
		s.fail("there is one session", string(out))
		panic(errGivenUp)
	}
	agent := doc.Sessions[0].Agent
	same(s, "the agent has the letters of the directory", strings.HasSuffix(agent, otherLetters), true)
	return agent
}

// recallsOf reports whether the memory of an agent finds a word.
func (s *stage) recallsOf(ctx context.Context, agent, word string) bool {
	out, err := s.output(ctx, s.home, s.sessctl, "recall", "--agent", agent, word)
	return err == nil && strings.Contains(string(out), word)
}
