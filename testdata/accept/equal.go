package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// conversed is a runtime whose requests are compared with what was replayed before them.
type conversed struct {
	traveller
	compact func(ctx context.Context, s *stage, turn turner) // has it compact by itself; nil if it cannot without a terminal
	own     []string                                         // how sessctl changes its session, nil if it does not
}

// conversations are the runtimes of the scenarios "equal".
func conversations() (all []conversed) {
	say := func(text string) func(context.Context, *stage, turner) {
		return func(_ context.Context, _ *stage, turn turner) { turn(text, lastSession) }
	}
	overlay, trim := []string{"--strategy", "overlay", "--keep-recent-tokens", "25"}, []string{"--strategy", "trim"}
	more := map[string]conversed{
		"pi": {own: overlay}, "pi 1.6": {own: overlay}, "omp": {own: overlay},
		"claude":  {compact: say("/compact keep the orders")},
		"copilot": {compact: say("/compact keep the orders"), own: trim},
		"codex": {compact: func(ctx context.Context, s *stage, _ turner) {
			c := &codex{stage: s, dir: filepath.Join(s.home, "work")}
			c.turn(ctx, "number-00: it gets long", "-c", "model_auto_compact_token_limit=250", "resume", "--last")
		}},
	}
	for _, t := range slices.Concat(travellers(), others()) {
		c := more[t.name]
		c.traveller = t
		all = append(all, c)
	}
	return all
}

// others are runtimes into which no session is carried.
func others() []traveller {
	return []traveller{
		{"pi 1.6", runtimePiToday, "", "", `bash {"command": "%s"}`, false, func(ctx context.Context, s *stage) turner {
			p := newPi(s)
			return func(say, session string) { p.turn(ctx, say, how(session, nil, []string{"-c"}, "--session")...) }
		}},
		{"copilot", runtimeCopilot, "", "", `bash {"command": "%s", "description": "bake"}`, false, func(ctx context.Context, s *stage) turner {
			c := newCopilot(s)
			return func(say, session string) {
				c.turn(ctx, say, how(session, nil, []string{"--continue"}, "--resume")...)
			}
		}},
		{"omp", runtimeOMP, "", "", `bash {"command": "%s"}`, false, func(ctx context.Context, s *stage) turner {
			turn := newOMP(ctx, s)
			return func(say, session string) { turn(say, how(session, nil, []string{"-c"}, "--session")...) }
		}},
		{"kilo", runtimeKilo, "", "", `bash {"command": "%s", "description": "bake"}`, false, func(ctx context.Context, s *stage) turner {
			o := newOpenCode(s, "kilo")
			return func(say, session string) { o.turn(ctx, strings.Replace(session, lastSession, "-c", 1), say+"\n") }
		}},
	}
}

// equals are the scenarios in which a replay is compared with the request.
func equals() (all []scenario) {
	for _, c := range conversations() {
		all = append(all, scenario{"equal " + c.name, c.needs, c.converse})
	}
	return all
}

// converse says numbered things, with calls, the runtime's own compaction and one of
// sessctl's in between. Before each turn the session is replayed, and the runtime must
// send the replay.
func (c conversed) converse(ctx context.Context, s *stage) {
	turn := c.ready(ctx, s)
	call := "\nCALL " + fmt.Sprintf(c.call, "echo heron-basin")
	turn("number-01: plan the bakery week. "+strings.Repeat("The mill sends spelt on Monday and rye on Thursday. ", 100), newSession)
	c.compared(ctx, s, turn, "number-02: list it, 研究 🦞 \"quoted\" <b>&amp;"+call)
	c.compared(ctx, s, turn, "number-03: which supplier has the best rye?")
	if c.compact != nil {
		c.compact(ctx, s, turn)
	}
	c.compared(ctx, s, turn, "number-04: who opens on Saturday?"+call)
	if c.own != nil {
		time.Sleep(shortQuiet)
		done := s.compact(ctx, append([]string{"--all", "--quiet-period", shortQuiet.String()}, c.own...)...)
		s.became("sessctl changes it", done, "compacted")
	}
	c.compared(ctx, s, turn, "number-05: and who closes?")
	c.compared(ctx, s, turn, "number-06: what is left?")
	c.strangers(ctx, s)
}

// strangers are records of types that sessctl does not know.
func (c conversed) strangers(ctx context.Context, s *stage) {
	out, err := s.command(ctx, s.home, s.sessctl, "archive", "--all", "--remember").CombinedOutput()
	s.must("archive it", err)
	_, unknown, _ := strings.Cut(string(out), "does not know")
	unknown, _, _ = strings.Cut(unknown, "\n")
	same(s, "no record is of a type that sessctl does not know", unknown, "")
}

// compared replays the session, lets the runtime take a turn, and compares.
func (c conversed) compared(ctx context.Context, s *stage, turn turner, say string) {
	replayed := s.replayed(ctx, c.sessctl())
	since, _ := s.model.requests()
	turn(say, lastSession)
	number, _, _ := strings.Cut(say, ":")
	sent, err := s.turnOf(since, number)
	s.must("find the request of "+number, err)
	why, excused := unequal(c.sessctl(), replayed, sent)
	s.report.excuse(excused)
	if why != "" {
		s.fail(number+" is sent as it was replayed", why)
		return
	}
	s.pass(fmt.Sprintf("%s: %d texts, calls and results are sent as they were replayed", number, len(replayed)))
}

// sessctl is what sessctl calls the runtime.
func (c conversed) sessctl() string { name, _, _ := strings.Cut(c.name, " "); return name }

// replayed is what sessctl says that the runtime would send.
func (s *stage) replayed(ctx context.Context, runtime string) []piece {
	out, err := s.output(ctx, s.home, s.sessctl, "replay-context", "--runtime", runtime, "--session", s.sessionOf(ctx, runtime), "--format", "openai")
	s.must("replay it", err)
	body, err := json.Marshal(object{"messages": json.RawMessage(out)})
	s.must("read the replay", err)
	all, err := pieces(body)
	s.must("read the replay", err)
	return all
}

// turnOf is what the first request of a turn says before its question: of those that
// have the question as their last, the longest. Titles and the like are shorter.
func (s *stage) turnOf(since int, question string) (before []piece, err error) {
	found := false
	for _, r := range s.model.since(since) {
		all, err := pieces(r.body)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(p piece) bool { return p.kind == "user" && strings.Contains(p.text, question) })
		answered := at >= 0 && slices.ContainsFunc(all[at:], func(p piece) bool { return p.kind == "call" || p.kind == "assistant" })
		if at >= 0 && !answered && (!found || at > len(before)) {
			before, found = all[:at], true
		}
	}
	if !found {
		return nil, errors.New("there is none")
	}
	return before, nil
}
