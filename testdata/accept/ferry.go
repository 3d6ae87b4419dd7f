package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What the carried session has: turns, each with a call; the result of one of them is
// longer than what Codex sends of a result.
const (
	ferriedTurns = 12
	ferriedLong  = 5
	ferriedSize  = 15_000
)

// ferries are the scenarios in which a runtime goes on with what another one began.
func ferries() []scenario {
	all := []scenario{
		{"ferry into pi", runtimePiNewer, playFerryIntoPi},
		{"ferry into claude", runtimeClaudeNewer, playFerryIntoClaude},
		{"ferry into codex", runtimeCodex, playFerryIntoCodex},
		{"ferry into openclaw", runtimeOpenClaw9, playFerryIntoOpenClaw},
		{"ferry, three hops", runtimePiNewer, playFerryHops},
	}
	for _, from := range travellers() {
		all = append(all, scenario{"ferry from " + from.name, from.needs, from.play})
	}
	return append(all, hardFerries()...)
}

// playFerryIntoPi lets pi go on with a session that was carried twice: from pi into
// Claude Code's format, and back.
func playFerryIntoPi(ctx context.Context, s *stage) {
	p := newPi(s)
	source := s.ferrySource()
	s.must("make stores", errors.Join(os.MkdirAll(filepath.Join(s.home, ".claude", "projects"), 0o700), os.MkdirAll(filepath.Join(s.home, ".pi", "agent", "sessions"), 0o700)))
	first := s.ferry(ctx, source, "claude", p.dir)
	done := s.ferry(ctx, first.Path, "pi", p.dir)
	before, _ := s.model.requests()
	p.turn(ctx, "Go on, newt-hollow", "--session", done.Session)
	s.arrived("pi", before, ferriedTurns)
	before, _ = s.model.requests()
	p.turn(ctx, "And on, otter-weir", "-c")
	s.arrived("pi, second resume", before, ferriedTurns)
}

// playFerryIntoClaude lets Claude Code go on with a session of pi.
func playFerryIntoClaude(ctx context.Context, s *stage) {
	c := newClaude(s)
	s.must("make a store", os.MkdirAll(filepath.Join(s.home, ".claude", "projects"), 0o700))
	done := s.ferry(ctx, s.ferrySource(), "claude", c.dir)
	c.turn(ctx, "Go on, newt-hollow", "--resume", done.Session)
	s.arrived("claude", c.before, ferriedTurns)
	c.turn(ctx, "And on, otter-weir", "--resume", done.Session)
	s.arrived("claude, second resume", c.before, ferriedTurns)
}

// playFerryIntoCodex lets Codex go on with a session of pi: the long result is text.
func playFerryIntoCodex(ctx context.Context, s *stage) {
	c := newCodex(s, "work", "")
	s.must("make a store", os.MkdirAll(filepath.Join(s.home, ".codex", "sessions"), 0o700))
	done := s.ferry(ctx, s.ferrySource(), "codex", c.dir)
	c.turn(ctx, "Go on, newt-hollow", "resume", done.Session)
	s.arrived("codex", c.before, ferriedTurns-1)
	c.turn(ctx, "And on, otter-weir", "resume", "--last")
	s.arrived("codex, second resume", c.before, ferriedTurns-1)
}

// playFerryIntoOpenClaw lets OpenClaw take a session of pi into its database by its own
// command, and go on with it. While its gateway runs, nothing is left for it.
func playFerryIntoOpenClaw(ctx context.Context, s *stage) {
	o := newOpenClaw(s)
	o.local(ctx, "Who opens on Saturday?") // it makes its database
	source := s.ferrySource()
	done := s.ferry(ctx, source, "openclaw", o.workspace)
	for _, where := range []string{"openclaw", "openclaw, second resume"} {
		before, _ := s.model.requests()
		o.local(ctx, "Go on, newt-hollow", "--session-id", done.Session)
		s.arrived(where, before, ferriedTurns)
	}
	o.startGateway(ctx)
	_, err := s.output(ctx, s.home, s.sessctl, "continue", "--file", source, "--in", "openclaw", "--cwd", o.workspace)
	same(s, "while the gateway runs it is refused", err != nil, true)
	left, _ := filepath.Glob(filepath.Join(o.sessions(), "*"))
	same(s, "and nothing waits beside the database", len(left), 0)
}

// ferried is what sessctl says of a session that goes on.
type ferried struct {
	Session string `json:"session"`
	Path    string `json:"path"`
	Images  int    `json:"images"` // left out
}

// ferry carries a log into a runtime, and makes sure that the source stays as it is.
func (s *stage) ferry(ctx context.Context, log, into, dir string) (done ferried) {
	before, err := os.ReadFile(log)
	s.must("read the source", err)
	time.Sleep(shortQuiet)
	out, err := s.output(ctx, s.home, s.sessctl, "continue", "--file", log, "--in", into, "--cwd", dir, "--quiet-period", "1ms", "--json")
	s.must("continue it", errors.Join(err, json.Unmarshal(out, &done)))
	now, err := os.ReadFile(log)
	same(s, "the source is not touched", err == nil && string(now) == string(before), true)
	return done
}

// ferriedTexts are all texts of the session, in their order.
func ferriedTexts() (texts []string) {
	for n := range ferriedTurns {
		result := fmt.Sprintf("result-%02d of the oven", n)
		if n == ferriedLong {
			result = strings.Repeat("rye ", ferriedSize/4) + result
		}
		texts = append(texts, fmt.Sprintf("question-%02d about the bread", n), fmt.Sprintf("looking-%02d", n), result, fmt.Sprintf("answer-%02d: it rests", n))
	}
	return texts
}

// ferrySource writes the log of pi that is carried.
func (s *stage) ferrySource() string {
	var log strings.Builder
	records := 0
	add := func(record object) {
		records++
		record["id"], record["parentId"] = fmt.Sprintf("%08x", records), any(nil)
		if records > 1 {
			record["parentId"] = fmt.Sprintf("%08x", records-1)
		}
		record["type"], record["timestamp"] = "message", fmt.Sprintf("2026-05-12T08:%02d:%02d.000Z", records/60, records%60)
		line, err := json.Marshal(record)
		s.must("write the source", err)
		log.Write(append(line, '\n'))
	}
	text := func(said string) []object { return []object{{"type": "text", "text": said}} }
	usage := object{"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2}
	log.WriteString(`{"type":"session","version":3,"id":"ferry-source","timestamp":"2026-05-12T08:00:00.000Z","cwd":"/srv/bread"}` + "\n")
	texts := ferriedTexts()
	for n := range ferriedTurns {
		call := object{"type": "toolCall", "id": "same-id", "name": "bash", "arguments": object{"command": fmt.Sprintf("oven %d", n)}}
		add(object{"message": object{"role": "user", "content": texts[4*n]}})
		add(object{"message": object{"role": "assistant", "content": append(text(texts[4*n+1]), call), "usage": usage, "stopReason": "toolUse"}})
		add(object{"message": object{"role": "toolResult", "toolCallId": "same-id", "toolName": "bash", "content": text(texts[4*n+2]), "isError": false}})
		add(object{"message": object{"role": "assistant", "content": text(texts[4*n+3]), "usage": usage, "stopReason": "stop"}})
	}
	path := filepath.Join(s.home, "source.jsonl")
	s.must("write the source", os.WriteFile(path, []byte(log.String()), 0o600))
	return path
}

// arrived looks for all of the session in one request since a number of them: every
// text in its order, and so many results of calls.
func (s *stage) arrived(where string, since, pairs int) {
	best, found, results := 0, 0, 0
	total := 0
	for _, text := range ferriedTexts() {
		total += len(text)
	}
	for _, r := range s.model.since(since) {
		bytes, texts, tools := inOrder(r)
		if bytes > best {
			best, found, results = bytes, texts, tools
		}
	}
	s.pass(fmt.Sprintf("%s: %d of %d bytes of text (%d texts, in order), %d results of calls", where, best, total, found, results))
	same(s, where+" sends every text of the session, in its order", best, total)
	same(s, where+" sends every call with its result", results, pairs)
}

// inOrder counts the texts that a request has in their order, their bytes, and its
// results of calls.
func inOrder(r request) (bytes, texts, tools int) {
	var all strings.Builder
	answers := r.answers
	for i, m := range r.said {
		for ; len(answers) > 0 && answers[0].before <= i; answers = answers[1:] {
			all.WriteString(answers[0].text + "\n")
		}
		all.WriteString(m.text + "\n")
		if m.role == "tool" {
			tools++
		}
	}
	rest := all.String()
	for _, text := range ferriedTexts() {
		_, after, ok := strings.Cut(rest, text)
		if ok {
			rest, bytes, texts = after, bytes+len(text), texts+1
		}
	}
	return bytes, texts, tools
}
