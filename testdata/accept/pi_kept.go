package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// playPiKept lets pi compact a session right after the model was changed: the
// first entry that it keeps is that change, and no message. What sessctl replays
// must be what pi sends, and a summary of sessctl's own must lose nothing.
func playPiKept(ctx context.Context, s *stage) {
	p := newPi(s)
	s.must("keep little", writeFile(filepath.Join(s.home, ".pi", "agent", "settings.json"), object{
		"compaction": object{"enabled": true, "reserveTokens": 16384, "keepRecentTokens": 200},
	}))
	p.turn(ctx, long("ALPHA-ONE begin the plan"))
	p.turn(ctx, long("ALPHA-TWO more of the plan"), "-c")
	q := p.stay(ctx, p.dir, "-c")
	q.request(object{"type": "set_model", "provider": "mock", "modelId": otherModel})
	q.say(long("BETA falcon-ridge: what about Sunday?"))
	q.request(object{"type": "compact"})
	q.end()
	same(s, "pi keeps from the change of the model on", p.kind(p.lastCompaction()), "model_change")

	p.turn(ctx, "GAMMA after the compaction", "-c")
	_, sent := s.model.requests()
	same(s, "pi sends the summary and what it kept", sent.has("falcon-ridge"), true)
	s.replays(ctx, p.logs()[0], sent)

	p.turn(ctx, long("DELTA another turn"), "-c")
	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--all", "--strategy", "overlay", "--keep-recent-tokens", "30", "--quiet-period", shortQuiet.String())
	s.became("a summary is appended", done, "compacted")
	p.turn(ctx, "EPSILON after the summary", "-c")
	_, sent = s.model.requests()
	same(s, "and what pi had kept is in it, or stays", sent.has("falcon-ridge"), true)
	s.replays(ctx, p.logs()[0], sent)
}

// piEntry is what matters of an entry of pi's log.
type piEntry struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	FirstKept string `json:"firstKeptEntryId"`
}

func (p *pi) entries() (all []piEntry) {
	text, err := os.ReadFile(p.logs()[0])
	p.must("read the log", err)
	for line := range strings.Lines(string(text)) {
		var e piEntry
		p.must("read the log", json.Unmarshal([]byte(line), &e))
		all = append(all, e)
	}
	return all
}

// lastCompaction is the entry that the last compaction names as the first kept.
func (p *pi) lastCompaction() (kept string) {
	for _, e := range p.entries() {
		if e.Type == "compaction" {
			kept = e.FirstKept
		}
	}
	return kept
}

// kind is the type of an entry.
func (p *pi) kind(id string) string {
	for _, e := range p.entries() {
		if e.ID == id {
			return e.Type
		}
	}
	return "none"
}

// has reports whether anything that was sent contains a word.
func (r request) has(word string) bool {
	return slices.ContainsFunc(r.said, func(m message) bool { return strings.Contains(m.text, word) })
}

// replays checks that sessctl replays of a log what was sent: the same messages
// with the same words. The answer to that request is in the log by now.
func (s *stage) replays(ctx context.Context, log string, sent request) {
	const what = "sessctl replays what pi has sent"
	out, err := s.output(ctx, s.home, s.sessctl, "replay-context", "--file", log, "--format", "openai", "--keep-tool-results", "-1")
	s.must("replay the context", err)
	var all []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	s.must("read the context", json.Unmarshal(out, &all))
	if len(all) != len(sent.said)+1 {
		s.fail(what, fmt.Sprintf("%d messages, want the %d and an answer", len(all), len(sent.said)))
		return
	}
	for i, m := range sent.said {
		text, _ := textOf(all[i].Content)
		got, want := words(text), words(m.text)
		if got != want || all[i].Role != m.role {
			s.fail(what, fmt.Sprintf("message %d is %s %.200q, want %s %.200q", i+1, all[i].Role, got, m.role, want))
			return
		}
	}
	s.pass(what)
}

// words is a text with one space for all white space.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }
