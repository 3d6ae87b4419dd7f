package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// traveller is a runtime from which, and into which, sessions are carried.
type traveller struct {
	name  string // as sessctl calls it
	needs runtimeName
	title string
	store string // what there must be in a home, so that a session can be begun
	call  string // a call of its tool that runs a command, %s is that
	text  bool   // calls arrive as text
	ready func(ctx context.Context, s *stage) turner
}

// turner takes a turn: of a new session, of the one that "continue last" finds, or of the
// one with an id.
type turner func(say, session string)

const newSession, lastSession = "", "last"

// travellers are those of the table.
func travellers() []traveller {
	return []traveller{
		{"pi", runtimePiNewer, "pi", ".pi/agent/sessions", `bash {"command": "%s"}`, false, func(ctx context.Context, s *stage) turner {
			p := newPi(s)
			return func(say, session string) { p.turn(ctx, say, how(session, nil, []string{"-c"}, "--session")...) }
		}},
		{"claude", runtimeClaudeNewer, "Claude Code", ".claude/projects", `Bash {"command": "%s"}`, false, func(ctx context.Context, s *stage) turner {
			c := newClaude(s)
			return func(say, session string) {
				c.turn(ctx, say, append([]string{"--allowedTools=Bash"}, how(session, nil, []string{"--continue"}, "--resume")...)...)
			}
		}},
		{"codex", runtimeCodex, "Codex", ".codex/sessions", `exec_command {"cmd": "%s"}`, false, func(ctx context.Context, s *stage) turner {
			c := newCodex(s, "work", "")
			return func(say, session string) {
				c.turn(ctx, say, how(session, nil, []string{"resume", "--last"}, "resume")...)
			}
		}},
		{"opencode", runtimeOpenCode, "OpenCode", ".local/share/opencode", `bash {"command": "%s", "description": "bake"}`, false, func(ctx context.Context, s *stage) turner {
			o := newOpenCode(s, "opencode")
			if s.opened("opencode") {
				o.turn(ctx, "", "Who opens on Saturday?") // it makes its database
			}
			return func(say, session string) { o.turn(ctx, strings.Replace(session, lastSession, "-c", 1), say+"\n") } // it puts quotes around a text
		}},
		{"qwen", runtimeQwen, "Qwen Code", ".qwen/projects", `run_shell_command {"command": "%s", "description": "bake", "is_background": false}`, false, func(ctx context.Context, s *stage) turner {
			q := newQwen(s)
			return func(say, session string) { q.turn(ctx, say, how(session, nil, []string{"-c"}, "--resume")...) }
		}},
		{"gemini", runtimeGemini, "Gemini CLI", ".gemini/tmp", `run_shell_command {"command": "%s"}`, true, func(ctx context.Context, s *stage) turner {
			g := newGemini(s)
			return func(say, session string) {
				g.turn(ctx, say, how(session, nil, []string{"--resume", "latest"}, "--resume")...)
			}
		}},
		{"openclaw", runtimeOpenClaw9, "OpenClaw", ".openclaw", `exec {"command": "%s"}`, false, func(ctx context.Context, s *stage) turner {
			o := newOpenClaw(s)
			o.local(ctx, "Who opens on Saturday?") // it makes its database
			return func(say, session string) {
				o.local(ctx, say, how(session, nil, nil, "--session-id")...) // without an id it is its main one
			}
		}},
	}
}

// resumes is how often a session is gone on with: by its id, and as the last one, which
// OpenClaw does not have.
func (t traveller) resumes() int {
	if t.name == "openclaw" {
		return 1
	}
	return 2
}

// how are the arguments of a turn.
func how(session string, first, last []string, id string) []string {
	switch session {
	case newSession:
		return first
	case lastSession:
		return last
	}
	return []string{id, session}
}

// crosses reports whether a scenario goes on in a runtime beside its own.
func (s scenario) crosses(name runtimeName) bool {
	into := slices.ContainsFunc(travellers(), func(t traveller) bool { return t.needs == name })
	return into && (strings.HasPrefix(s.name, "ferry from ") || strings.HasPrefix(s.name, "ferry, "))
}

// opened reports whether no database of a program is in the home yet.
func (s *stage) opened(program string) bool {
	found, _ := filepath.Glob(filepath.Join(s.home, ".local", "share", program, "*.db"))
	return len(found) == 0
}

// as is the same home for another runtime.
func (s *stage) as(t traveller) *stage {
	other := *s
	other.runtime = s.runtimes[t.needs]
	return &other
}

// bakes is how many turns a session has that is carried, each with a call.
const bakes = 4

// play lets a runtime make a session, and every other one go on with it.
func (from traveller) play(ctx context.Context, s *stage) {
	sent := from.session(ctx, s)
	id := s.sessionOf(ctx, from.name)
	for _, into := range travellers() {
		if into.name != from.name {
			s.cross(ctx, sent, id, from, into)
		}
	}
}

// session makes a session with the real program and returns what was sent at the last
// turn.
func (from traveller) session(ctx context.Context, s *stage) []piece {
	turn := from.ready(ctx, s)
	before, _ := s.model.requests()
	for n := range bakes {
		session := lastSession
		if n == 0 {
			session = newSession
		}
		// What comes of the command does not stand in the question.
		turn(fmt.Sprintf("question-%02d about the bread\nCALL "+from.call, n, fmt.Sprintf("printf 'result-%%d of the oven' %d", 4700+n)), session)
	}
	turn("question-99, the last", lastSession)
	sent, whole := s.fullest(before, func(all []piece) int { return len(said(all)) })
	if !from.text { // Gemini sends a result several times, by itself
		s.accepted(whole)
	}
	if n := count(sent, "result"); n != bakes {
		s.must(from.name+" made a session with calls", fmt.Errorf("%d results, not %d", n, bakes))
	}
	return sent
}

// cross carries a session and lets the real program go on with it, twice.
func (s *stage) cross(ctx context.Context, sent []piece, id string, from, into traveller) {
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
	t := s.as(into)
	s.must("make a store", os.MkdirAll(filepath.Join(s.home, filepath.FromSlash(into.store)), 0o700))
	turn := into.ready(ctx, t)
	time.Sleep(shortQuiet)
	var done ferried
	out, err := t.output(ctx, s.home, s.sessctl, "continue", id, "--in", into.name, "--cwd", filepath.Join(s.home, "work"), "--quiet-period", "1ms", "--json")
	s.must("continue it in "+into.name, errors.Join(err, json.Unmarshal(out, &done)))
	for _, session := range []string{done.Session, lastSession}[:into.resumes()] {
		before, _ := s.model.requests()
		turn("Go on, newt-hollow", session)
		s.crossed(before, sent, from, into, session == lastSession)
	}
}

// crossed compares what was sent with what is sent now.
func (s *stage) crossed(since int, sent []piece, from, into traveller, again bool) {
	now, whole := s.fullest(since, func(all []piece) int { return arrival(sent, all).bytes })
	s.accepted(whole)
	a := arrival(sent, now)
	what := into.name
	if again {
		what += ", again by its own last"
	}
	s.pass(fmt.Sprintf("%s: %d of %d bytes, %d of %d calls with their results%s", what, a.bytes, a.total, a.pairs, a.calls, a.lost))
	same(s, what+": at least 98 % of the text, in order", a.bytes*100 >= a.total*98, true)
	if !into.text {
		same(s, what+": every call with its result", a.pairs, a.calls)
	}
	if !again {
		s.ferried.note(from, into, a)
	}
}

// fullest is the request since a number of them that has most of something.
func (s *stage) fullest(since int, size func([]piece) int) (best []piece, whole []byte) {
	most := -1
	for _, r := range s.model.since(since) {
		all, err := pieces(r.body)
		if n := size(all); err == nil && n > most {
			best, most, whole = all, n, r.body
		}
	}
	return best, whole
}

// accepted makes sure that no provider would refuse a request.
func (s *stage) accepted(body []byte) {
	if err := refused(body); err != nil {
		s.fail("no provider refuses it", err.Error())
	}
}

// said are the pieces of the conversation, without what the runtime says by itself, and a
// result once.
func said(all []piece) (of []piece) {
	results := map[piece]bool{}
	for _, p := range all {
		text := strings.Contains(p.text, "question-") || strings.Contains(p.text, "result-") || strings.Contains(p.text, answer[0])
		once := piece{p.kind, p.id, p.name, p.text, 0}
		if p.kind != "system" && text && !results[once] {
			results[once] = p.kind == "result" && p.id != ""
			p.text = reminder.ReplaceAllString(clock.ReplaceAllString(p.text, ""), "")
			of = append(of, p)
		}
	}
	return of
}

// clock is what OpenClaw puts before a text when it sends it.
var clock = regexp.MustCompile(`^\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [^\]]*\] `)

// reminder is what Claude Code puts behind a text when it sends it, and never again.
var reminder = regexp.MustCompile(`(?s)\s*<system-reminder>.*?</system-reminder>`)

func count(all []piece, kind string) (n int) {
	for _, p := range said(all) {
		if p.kind == kind {
			n++
		}
	}
	return n
}

// arrived is how much of a session is in a request.
type arrived struct {
	bytes, total, pairs, calls int
	lost                       string // the first text that is not there
}

// arrival looks for what was sent in what is sent now: each piece said by the same, or a
// call and its result as text, in the order of before.
func arrival(sent, now []piece) (a arrived) {
	at := 0
	ids := map[string]string{}
	for _, p := range said(sent) {
		if p.kind == "call" {
			a.calls++
			ids[p.id] = p.text
			continue
		}
		a.total += len(p.text)
		i := slices.IndexFunc(now[min(at, len(now)):], func(q piece) bool { return q.carries(p) })
		if i < 0 {
			if a.lost == "" {
				a.lost = fmt.Sprintf("; lost: %s %.200q", p.kind, p.text)
			}
			continue
		}
		at += i // the next may stand in the same one
		a.bytes += len(p.text)
		if q := now[at]; p.kind == "result" && q.kind == "result" && slices.ContainsFunc(now[:at], func(c piece) bool { return c.kind == "call" && c.id == q.id }) {
			a.pairs++
		}
		if p.kind != "user" && now[at].kind == p.kind {
			at++
		}
	}
	return a
}

// carries reports whether a piece has another one in it.
func (q piece) carries(p piece) bool {
	text := p.kind == q.kind || p.kind == "result" && q.kind == "user"
	return text && strings.Contains(strings.Join(strings.Fields(q.text), " "), strings.Join(strings.Fields(p.text), " "))
}

// sessionOf is the session of a runtime with the most in it.
func (s *stage) sessionOf(ctx context.Context, runtime string) string {
	out, err := s.output(ctx, s.home, s.sessctl, "sizes", "--runtime", runtime, "--json")
	var doc struct {
		Sessions []struct {
			Session  string `json:"session"`
			Messages int    `json:"messages"`
		} `json:"sessions"`
	}
	s.must("look for the session", errors.Join(err, json.Unmarshal(out, &doc)))
	best, most := "", -1
	for _, x := range doc.Sessions {
		if x.Messages > most {
			best, most = x.Session, x.Messages
		}
	}
	return best
}

// playFerryHops carries a session through three runtimes, with a turn in each, and back.
func playFerryHops(ctx context.Context, s *stage) {
	all := travellers()
	find := func(name string) traveller {
		return all[slices.IndexFunc(all, func(t traveller) bool { return t.name == name })]
	}
	from := find("pi")
	sent := from.session(ctx, s)
	id := s.sessionOf(ctx, from.name)
	for _, name := range []string{"claude", "qwen", "opencode", "pi"} {
		into := find(name)
		s.cross(ctx, sent, id, from, into)
		id = s.sessionOf(ctx, name)
	}
}
