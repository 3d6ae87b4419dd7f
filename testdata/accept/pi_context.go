package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed pi_context.mjs
var piContext []byte

// generatedLogs is how many logs are made for pi to read.
const generatedLogs = 200

// playPiContext compares what sessctl replays of a log with what pi's own code
// makes of it: of generated logs of every version, with compactions that name
// every kind of entry as the first that they kept, and of real ones. ACCEPT_LOGS
// names a directory of more.
func playPiContext(ctx context.Context, s *stage) {
	dir := filepath.Join(s.home, "logs")
	s.must("make a directory for logs", os.MkdirAll(dir, 0o700))
	var logs []string
	for seed := range uint64(generatedLogs) {
		path := filepath.Join(dir, fmt.Sprintf("generated-%03d.jsonl", seed))
		s.must("write a log", os.WriteFile(path, []byte(generateLog(rand.New(rand.NewPCG(seed, 1)), strings.HasPrefix(s.runtime.name, "@earendil-works/"))), 0o600))
		logs = append(logs, path)
	}
	for _, pattern := range []string{"testdata/sessions/pi-*.jsonl", "testdata/sample/.pi/agent/sessions/*/*.jsonl", filepath.Join(os.Getenv("ACCEPT_LOGS"), "*.jsonl")} {
		found, err := filepath.Glob(pattern)
		s.must("look for logs", err)
		for _, name := range found {
			if absolute, err := filepath.Abs(name); err == nil && hasHeader(absolute) {
				logs = append(logs, absolute)
			}
		}
	}
	oracle := filepath.Join(s.home, "pi_context.mjs")
	s.must("write the oracle", os.WriteFile(oracle, piContext, 0o600))
	pi := filepath.Join(filepath.Dir(s.runtime.bin), filepath.FromSlash(s.runtime.name))
	out, err := s.output(ctx, s.home, filepath.Join(s.runtime.node, "node"), append([]string{oracle, pi, filepath.Join(s.home, "tmp")}, logs...)...)
	s.must("ask pi for its contexts", err)
	lines := slices.Collect(strings.Lines(string(out)))
	same(s, fmt.Sprintf("pi has read all of %d logs", len(logs)), len(lines), len(logs))
	differ := 0
	for i, line := range lines {
		var sent []contextMessage
		s.must("read what pi said", json.Unmarshal([]byte(line), &sent))
		if why := differs(s.contextOf(ctx, logs[i]), sent); why != "" {
			differ++
			s.fail(filepath.Base(logs[i])+" is replayed as pi sends it", why)
		}
	}
	same(s, fmt.Sprintf("%d logs are replayed as pi sends them", len(lines)), differ, 0)
}

// hasHeader reports whether pi would read a log at all.
func hasHeader(log string) bool {
	data, err := os.ReadFile(log)
	first, _, _ := bytes.Cut(data, []byte("\n"))
	return err == nil && bytes.Contains(first, []byte(`"type":"session"`))
}

// contextMessage is a message of a context.
type contextMessage struct {
	Role  string `json:"role"`
	Text  string `json:"text"`
	Calls int    `json:"calls"`
}

// contextOf is what sessctl replays of a log.
func (s *stage) contextOf(ctx context.Context, log string) (said []contextMessage) {
	out, err := s.output(ctx, s.home, s.sessctl, "replay-context", "--file", log, "--format", "json", "--keep-tool-results", "-1")
	s.must("replay a context", err)
	var doc struct {
		Messages []struct {
			contextMessage
			Reason    string            `json:"reason"`
			ToolCalls []json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
	}
	s.must("read a context", json.Unmarshal(out, &doc))
	for _, m := range doc.Messages {
		if m.Reason != "added" {
			said = append(said, contextMessage{m.Role, m.Text, len(m.ToolCalls)})
		}
	}
	return said
}

// differs says where two contexts differ, "" if they do not. A command of a
// person's and a tool's result have more than their own text around it.
func differs(got, want []contextMessage) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d messages, pi sends %d", len(got), len(want))
	}
	for i, m := range want {
		if got[i].Role != m.Role || got[i].Calls != m.Calls || !strings.Contains(words(got[i].Text), words(m.Text)) {
			return fmt.Sprintf("message %d is %.200v, pi sends %.200v", i+1, got[i], m)
		}
	}
	return ""
}

// generated is a log that is being made.
type generated struct {
	*rand.Rand
	version int
	lines   []string
	path    []generatedEntry // from the root to where it goes on
	keep    int              // in path, from which on the next compaction may keep
	edits   bool             // it may have edits of the context, which pi knows since 1.0
}

type generatedEntry struct {
	id    string
	line  int  // its place among the lines, as version 1 counts
	speak bool // a message, or a message of an extension
}

// generateLog makes a log of pi of any version: messages, failed and empty turns,
// changes of the model, branches, compactions that keep from any entry on, and edits of
// the context if asked for.
func generateLog(r *rand.Rand, edits bool) string {
	g := &generated{Rand: r, version: r.IntN(3) + 1}
	g.edits = edits && g.version == 3
	header := object{"type": "session", "id": "00000000-0000-4000-8000-000000000001", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work"}
	if g.version > 1 {
		header["version"] = g.version
	}
	g.write(header)
	for i := range 5 + r.IntN(50) {
		g.entry(i)
	}
	return strings.Join(g.lines, "\n") + "\n"
}

func (g *generated) write(record object) {
	text, _ := json.Marshal(record) // of strings and numbers
	g.lines = append(g.lines, string(text))
}

// add appends an entry to the branch.
func (g *generated) add(record object) {
	e := generatedEntry{line: len(g.lines), speak: record["type"] == "message" || record["type"] == "custom_message"}
	record["timestamp"] = fmt.Sprintf("2026-01-01T00:%02d:%02d.000Z", e.line/60, e.line%60)
	if g.version > 1 {
		e.id = fmt.Sprintf("%08x", e.line)
		record["id"], record["parentId"] = e.id, nil
		if len(g.path) > 0 {
			record["parentId"] = g.path[len(g.path)-1].id
		}
	}
	g.write(record)
	g.path = append(g.path, e)
}

func (g *generated) say(role, text, stop string) {
	m := object{"role": role, "content": []object{{"type": "text", "text": text}}, "timestamp": 1767225600000 + 1000*len(g.lines)}
	if role == "assistant" {
		m["stopReason"], m["provider"], m["model"], m["api"] = stop, "mock", modelName, "openai-completions"
		m["usage"] = object{"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2, "cost": object{"total": 0}}
	}
	g.add(object{"type": "message", "message": m})
}

func (g *generated) entry(i int) {
	kinds := []string{"user", "user", "assistant", "assistant", "empty", "failed", "model", "thinking", "compaction", "compaction"}
	if g.version > 1 {
		kinds = append(kinds, "custom", "custom message", "branch summary", "label", "branch")
	}
	if g.edits {
		kinds = append(kinds, "edit", "edit")
	}
	switch kinds[g.IntN(len(kinds))] {
	case "edit":
		g.edit(i)
	case "user":
		g.say("user", fmt.Sprintf("question %d", i), "")
	case "assistant":
		g.say("assistant", fmt.Sprintf("answer %d", i), "stop")
	case "empty":
		g.say("assistant", "", "stop")
	case "failed":
		g.say("assistant", fmt.Sprintf("half an answer %d", i), []string{"error", "aborted"}[g.IntN(2)])
	case "model":
		g.add(object{"type": "model_change", "provider": "mock", "modelId": fmt.Sprint("model ", i)})
	case "thinking":
		g.add(object{"type": "thinking_level_change", "thinkingLevel": "low"})
	case "custom":
		g.add(object{"type": "custom", "customType": "x", "data": object{"n": i}})
	case "custom message":
		g.add(object{"type": "custom_message", "customType": "x", "content": fmt.Sprintf("from an extension %d", i), "display": true})
	case "branch summary":
		g.add(object{"type": "branch_summary", "fromId": "root", "summary": fmt.Sprintf("of a branch %d", i)})
	case "label":
		if len(g.path) > 0 {
			g.add(object{"type": "label", "targetId": g.path[0].id, "label": "first"})
		}
	case "compaction":
		g.compact(i)
	case "branch":
		if len(g.path) > 2 && g.keep < len(g.path)-1 { // back to an entry after the last compaction's first kept one
			g.path = g.path[:max(g.keep, 1)+g.IntN(len(g.path)-max(g.keep, 1))]
		}
	}
}

// edit takes what was said out of the context, or replaces it.
func (g *generated) edit(i int) {
	var targets []string
	for _, e := range g.path {
		if e.speak {
			targets = append(targets, e.id)
		}
	}
	if len(targets) == 0 {
		return
	}
	record := object{"type": "context_edit", "targetId": targets[g.IntN(len(targets))], "replacement": nil}
	if g.IntN(2) == 0 {
		record["replacement"] = object{"content": []object{{"type": "text", "text": fmt.Sprintf("in its place %d", i)}}}
	}
	g.add(record)
}

// compact adds a compaction that keeps from any entry on, of whatever kind, but
// not from before what the compaction before it kept: runtimes do not go back
// there. Now and then it is one that is not there, and nothing is kept.
func (g *generated) compact(i int) {
	record := object{"type": "compaction", "summary": fmt.Sprintf("of what came before %d", i), "tokensBefore": 1000}
	if g.keep >= len(g.path) {
		return
	}
	g.keep += g.IntN(len(g.path) - g.keep)
	switch first := g.path[g.keep]; {
	case g.version == 1:
		record["firstKeptEntryIndex"] = first.line
	case g.IntN(15) == 0:
		record["firstKeptEntryId"], g.keep = "deadbeef", len(g.path)
	default:
		record["firstKeptEntryId"] = first.id
	}
	g.add(record)
}
