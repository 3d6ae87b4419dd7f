package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// hardFerries are sources that are hard to carry, and what a target does later with what
// was carried.
func hardFerries() []scenario {
	return []scenario{
		{"ferry, hard source", runtimePiNewer, playFerryHard},
		{"ferry, edit gate", runtimeClaudeNewer, playFerryGate},
		{"ferry, then compacted by pi", runtimePiNewer, playFerryPiCompacts},
		{"ferry, then compacted by claude", runtimeClaudeNewer, playFerryClaudeCompacts},
		{"ferry, then compacted by codex", runtimeCodex, playFerryCodexCompacts},
	}
}

// painted is a small picture of a color, as base64.
func painted(red, blue uint8) string {
	tray := image.NewRGBA(image.Rect(0, 0, 8, 8))
	for x := range 8 {
		for y := range 8 {
			tray.Set(x, y, color.RGBA{red, 0, blue, 255})
		}
	}
	var text bytes.Buffer
	_ = png.Encode(&text, tray) // into memory
	return base64.StdEncoding.EncodeToString(text.Bytes())
}

// hardSource writes a log of pi with pictures, a line that is damaged, an id that is used
// twice, a call without a result, and half a line at its end; and returns its pictures.
func (s *stage) hardSource() (path string, pictures []string) {
	pictures = []string{painted(200, 0), painted(0, 200)}
	picture := func(n int) object {
		return object{"type": "image", "data": pictures[n], "mimeType": "image/png"}
	}
	text := func(said string) object { return object{"type": "text", "text": said} }
	call := func(command string) object {
		return object{"type": "toolCall", "id": "same-id", "name": "bash", "arguments": object{"command": command}}
	}
	said := func(role string, content ...object) object {
		m := object{"role": role, "content": content}
		if role == "assistant" {
			m["usage"], m["stopReason"] = object{"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2}, "toolUse"
		}
		return m
	}
	result := func(content ...object) object {
		m := said("toolResult", content...)
		m["toolCallId"], m["toolName"], m["isError"] = "same-id", "bash", false
		return m
	}
	var log strings.Builder
	log.WriteString(`{"type":"session","version":3,"id":"hard-source","timestamp":"2026-05-12T08:00:00.000Z","cwd":"/srv/bread"}` + "\n")
	for n, m := range []object{
		said("user", text("question-00 what is on this plan?"), picture(0)), said("assistant", text("looking-00"), call("show plan")),
		result(text("result-00"), picture(1)), said("assistant", text("looking-01"), call("oven 1")), result(text("result-01")),
		said("user", text("question-01 and now?")), said("assistant", text("looking-02"), call("oven 2")),
	} {
		parent := any(fmt.Sprintf("%08x", n))
		if n == 0 {
			parent = nil
		}
		line, err := json.Marshal(object{"type": "message", "id": fmt.Sprintf("%08x", n+1), "parentId": parent, "timestamp": fmt.Sprintf("2026-05-12T08:00:%02d.000Z", n+1), "message": m})
		s.must("write the source", err)
		log.Write(append(line, '\n'))
		if n == 3 {
			log.WriteString("{\"type\":\"message\",\"id\":\"\x00\x00\x00\n")
		}
	}
	log.WriteString(`{"type":"message","id":"00000099","mess`)
	path = filepath.Join(s.home, "hard.jsonl")
	old := time.Now().Add(-48 * time.Hour)
	s.must("write the source", errors.Join(os.WriteFile(path, []byte(log.String()), 0o600), os.Chtimes(path, old, old)))
	return path, pictures
}

// playFerryHard carries the hard source into every runtime, from Claude Code's format
// into pi.
func playFerryHard(ctx context.Context, s *stage) {
	path, pictures := s.hardSource()
	for _, into := range travellers() {
		if into.store != "" && into.name != "pi" {
			s.hard(ctx, path, pictures, into)
		}
	}
	logs, err := filepath.Glob(filepath.Join(s.home, ".claude", "projects", "*", "*.jsonl"))
	if s.must("look for a log of Claude Code", err); len(logs) > 0 {
		time.Sleep(shortQuiet)
		s.hard(ctx, logs[0], pictures, travellers()[0])
	}
}

// hard lets a runtime go on with the hard source.
func (s *stage) hard(ctx context.Context, path string, pictures []string, into traveller) {
	if problem := s.runtimes[into.needs].problem; problem != nil {
		s.report.skipped++
		fmt.Printf("skipped %s into %s: %v\n", s.name, into.name, problem)
		return
	}
	defer func() {
		if p := recover(); p != nil && p != errGivenUp {
			panic(p)
		}
	}()
	s.must("make a store", os.MkdirAll(filepath.Join(s.home, filepath.FromSlash(into.store)), 0o700))
	own := s.as(into)
	turn := into.ready(ctx, own)
	done := own.ferry(ctx, path, into.name, filepath.Join(s.home, "work"))
	before, _ := s.model.requests()
	turn("Go on, newt-hollow", done.Session)
	var sent []byte
	for _, r := range s.model.since(before) {
		if n := bytes.Count(r.body, []byte("question-0")); n > bytes.Count(sent, []byte("question-0")) {
			sent = r.body
		}
	}
	all, err := pieces(sent)
	s.must("read what was sent", err)
	at, lost := 0, ""
	for _, want := range []string{"question-00", "looking-00", "result-00", "looking-01", "result-01", "question-01", "looking-02", "recovered from broken history", "newt-hollow"} {
		for ; at < len(all) && !strings.Contains(all[at].text, want); at++ {
			continue
		}
		if at == len(all) {
			lost = want
			break
		}
	}
	same(s, into.name+" sends all of it, in order", lost, "")
	for n, picture := range pictures {
		same(s, fmt.Sprintf("%s sends picture %d", into.name, n+1), bytes.Contains(sent, []byte(picture)), into.name != "openclaw")
	}
	if into.name == "openclaw" { // none is carried into it
		same(s, "what is left out is counted", done.Images, len(pictures))
	}
	if err := refused(sent); err != nil {
		s.fail("no provider refuses what "+into.name+" sends", err.Error())
	}
}

// playFerryGate carries the reading of two files into Claude Code. It edits the one that
// is as it was, and must read the one that has changed since.
func playFerryGate(ctx context.Context, s *stage) {
	c := newClaude(s)
	s.must("make a store", os.MkdirAll(filepath.Join(s.home, ".claude", "projects"), 0o700))
	old := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	log := `{"type":"session","version":3,"id":"gate","timestamp":"2026-05-12T08:00:00.000Z","cwd":"` + c.dir + `"}` + "\n"
	parent := "null"
	add := func(message string) {
		id := fmt.Sprintf("%08x", strings.Count(log, "\n"))
		log += fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-05-12T08:00:0%d.000Z","message":%s}`+"\n", id, parent, strings.Count(log, "\n")%10, message)
		parent = `"` + id + `"`
	}
	add(`{"role":"user","content":"read both"}`)
	files := []string{filepath.Join(c.dir, "kept.txt"), filepath.Join(c.dir, "changed.txt")}
	for n, file := range files {
		s.must("write a file", errors.Join(os.WriteFile(file, []byte("rye\n"), 0o600), os.Chtimes(file, old, old)))
		add(fmt.Sprintf(`{"role":"assistant","content":[{"type":"toolCall","id":"r%d","name":"read","arguments":{"path":"%s"}}],"usage":{"input":1,"output":1,"totalTokens":2},"stopReason":"toolUse"}`, n, file))
		add(fmt.Sprintf(`{"role":"toolResult","toolCallId":"r%d","toolName":"read","content":[{"type":"text","text":"rye\n"}],"isError":false}`, n))
	}
	add(`{"role":"assistant","content":[{"type":"text","text":"Both say rye."}],"usage":{"input":1,"output":1,"totalTokens":2},"stopReason":"stop"}`)
	path := filepath.Join(s.home, "gate.jsonl")
	s.must("write the source", os.WriteFile(path, []byte(log), 0o600))
	s.must("change a file", os.WriteFile(files[1], []byte("rye, by somebody else\n"), 0o600))
	done := s.ferry(ctx, path, "claude", c.dir)
	for n, file := range files {
		c.turn(ctx, fmt.Sprintf("Edit it.\nCALL Edit {\"file_path\": %q, \"old_string\": \"rye\", \"new_string\": \"spelt\"}", file), "--allowedTools=Edit", "--resume", done.Session)
		now, err := os.ReadFile(file)
		s.must("read the file", err)
		edited := bytes.HasPrefix(now, []byte("spelt"))
		same(s, []string{"a file that is as it was read is edited", "a file that has changed since is not"}[n], edited, n == 0)
	}
}

// playFerryPiCompacts lets pi compact a session that was carried into it.
func playFerryPiCompacts(ctx context.Context, s *stage) {
	p := newPi(s)
	s.must("keep little", writeFile(filepath.Join(s.home, ".pi", "agent", "settings.json"), object{
		"compaction": object{"enabled": true, "reserveTokens": 16384, "keepRecentTokens": 200},
	}))
	s.must("make stores", errors.Join(os.MkdirAll(filepath.Join(s.home, ".claude", "projects"), 0o700), os.MkdirAll(filepath.Join(s.home, ".pi", "agent", "sessions"), 0o700)))
	first := s.ferry(ctx, s.ferrySource(), "claude", p.dir)
	done := s.ferry(ctx, first.Path, "pi", p.dir)
	q := p.stay(ctx, p.dir, "--session", done.Session)
	q.say("Go on, newt-hollow")
	q.request(object{"type": "compact"})
	q.end()
	before, _ := s.model.requests()
	p.turn(ctx, "And on, otter-weir", "--session", done.Session)
	s.compacted(ctx, "pi", done, before, "newt-hollow")
}

// playFerryClaudeCompacts is the same with Claude Code.
func playFerryClaudeCompacts(ctx context.Context, s *stage) {
	c := newClaude(s)
	s.must("make a store", os.MkdirAll(filepath.Join(s.home, ".claude", "projects"), 0o700))
	done := s.ferry(ctx, s.ferrySource(), "claude", c.dir)
	c.turn(ctx, "Go on, newt-hollow", "--resume", done.Session)
	c.turn(ctx, "/compact", "--resume", done.Session)
	c.turn(ctx, "And on, otter-weir", "--resume", done.Session)
	s.compacted(ctx, "claude", done, c.before, "newt-hollow")
}

// playFerryCodexCompacts is the same with Codex.
func playFerryCodexCompacts(ctx context.Context, s *stage) {
	c := newCodex(s, "work", "model_auto_compact_token_limit = 250\n")
	s.must("make a store", os.MkdirAll(filepath.Join(s.home, ".codex", "sessions"), 0o700))
	done := s.ferry(ctx, s.ferrySource(), "codex", c.dir)
	for _, say := range []string{"Go on, newt-hollow", "And more, finch-lane", "And most, heron-basin"} {
		c.turn(ctx, say, "resume", done.Session)
	}
	c.turn(ctx, "And on, otter-weir", "-c", "model_auto_compact_token_limit=100000", "resume", done.Session)
	s.compacted(ctx, "codex", done, c.before, "newt-hollow")
}

// compacted looks at a session that the target has compacted after it was carried: what
// was carried is not sent any more as it was, and in memory it is still what was carried,
// once, with what was said since.
func (s *stage) compacted(ctx context.Context, runtime string, done ferried, since int, saidSince string) {
	results := 0
	for _, r := range s.model.since(since) {
		_, _, n := inOrder(r)
		results = max(results, n)
	}
	same(s, runtime+" has compacted what was carried", results < ferriedTurns-1, true)
	source := filepath.Join(s.home, ".pi", "agent", "sessions", "--srv-bread--", "2026-05-12T08-00-00-000Z_ferry-source.jsonl")
	if runtime != "pi" { // the source is where it was made
		text, err := os.ReadFile(filepath.Join(s.home, "source.jsonl"))
		s.must("put the source back", errors.Join(err, os.MkdirAll(filepath.Dir(source), 0o700), os.WriteFile(source, text, 0o600)))
	}
	time.Sleep(shortQuiet)
	_, err := s.output(ctx, s.home, s.sessctl, "archive", "--all", "--remember", "--json")
	s.must("archive and remember", err)
	var hits struct {
		Hits []struct {
			Runtime string `json:"runtime"`
			Session string `json:"session"`
			Branch  string `json:"branch"`
			Text    string `json:"text"`
		} `json:"hits"`
	}
	asked := func(what string) (found []string) {
		out, err := s.output(ctx, s.home, s.sessctl, "recall", "--json", what)
		hits.Hits = nil
		s.must("recall "+what, errors.Join(err, json.Unmarshal(out, &hits)))
		for _, h := range hits.Hits {
			if strings.Contains(h.Text, what) {
				found = append(found, h.Runtime+" "+h.Branch)
			}
		}
		return found
	}
	if runtime != "pi" {
		same(s, "what was carried is a passage of its source, once", strings.Join(asked("question-07 about the bread"), ", "), "pi active")
	}
	same(s, "what was said since is the target's own", strings.HasPrefix(strings.Join(asked(saidSince), ", "), runtime+" active"), true)
	replayed, err := s.output(ctx, s.home, s.sessctl, "replay-context", "--file", done.Path, "--format", "text")
	s.must("replay it", err)
	same(s, "replayed without what was summed up", bytes.Contains(replayed, []byte("looking-00")), false) // Codex keeps what a person said
}
