package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// excuse is what a request has and a replay cannot have.
type excuse struct {
	runtime   string // "" of every one
	what, why string
	is        func(before []piece, p piece) bool // a piece that is left out, after those before it
}

// excuses are all differences that are allowed. The run prints those that it met.
func excuses() []excuse {
	reminds := func(_ []piece, p piece) bool {
		return p.kind == "user" && strings.HasPrefix(strings.TrimSpace(p.text), "<system-reminder>")
	}
	return []excuse{
		{"", "the system prompt", "no log has it", func(_ []piece, p piece) bool { return p.kind == "system" }},
		{"claude", "reminders of the program's own (environment, tools, date, tokens left)", "it makes them anew for each request", reminds},
		{"qwen", "reminders before the first message (skills, tools, date)", "its log does not have them", reminds},
		{"omp", "a reminder of the date and the directory", "its log does not have it", reminds},
		{"kilo", "the time and the directories behind each question", "its database does not have them", func(_ []piece, p piece) bool {
			return p.kind == "user" && strings.HasPrefix(strings.TrimSpace(p.text), "<environment_details>")
		}},
		stamped,
		{"gemini", "the result of a call a second time after a resume", "no other provider takes two results of one call", again},
	}
}

// stamp is the time that OpenClaw writes before what a person says.
var stamp = regexp.MustCompile(`^\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [^\]]+\] `)

var stamped = excuse{"openclaw", "the day and time before what a person says", "its log has it without", func([]piece, piece) bool { return false }}

// again reports whether a piece is the result that was just sent.
func again(before []piece, p piece) bool {
	return p.kind == "result" && slices.ContainsFunc(before, func(q piece) bool { return q.kind == "result" && q.id == p.id })
}

// unequal says where what was sent is not what was replayed: in order, role, count or
// text. White space at the ends of a text does not count, nor where blocks of one
// message are several; excused is what was left out of the request.
func unequal(runtime string, replayed, sent []piece) (why string, excused []excuse) {
	sent = oneText(runtime, sent)
	i := 0
	for j, p := range sent {
		if bare := stamp.ReplaceAllString(p.text, ""); runtime == "openclaw" && p.kind == "user" && bare != p.text {
			p.text, excused = bare, append(excused, stamped)
		}
		if i < len(replayed) && replayed[i].equals(p) {
			i++
			continue
		}
		at := slices.IndexFunc(excuses(), func(e excuse) bool {
			return (e.runtime == "" || e.runtime == runtime) && e.is(sent[:j], p)
		})
		if at < 0 {
			return fmt.Sprintf("%d. of %d is %s, sent is %s", i+1, len(replayed), shown(replayed, i), shown(sent, j)), excused
		}
		excused = append(excused, excuses()[at])
	}
	if i < len(replayed) {
		return "not sent: " + shown(replayed, i), excused
	}
	return "", excused
}

func shown(all []piece, i int) string {
	if i >= len(all) {
		return "nothing"
	}
	return fmt.Sprintf("%s %s %.300q", all[i].kind, all[i].name, all[i].text)
}

// oneText joins the texts of one message, as a replay has them. Claude Code sends all
// that a person says in a row as one message, so there each stays one.
func oneText(runtime string, all []piece) (out []piece) {
	for _, p := range all {
		last := len(out) - 1
		if runtime == "codex" && last >= 0 && out[last].turn == p.turn && out[last].kind == p.kind {
			out[last].text += "\n" + p.text
			continue
		}
		out = append(out, p)
	}
	return out
}

// equals compares what two pieces say. What Claude Code puts behind a result is one of
// its reminders.
func (p piece) equals(sent piece) bool {
	if p.kind != sent.kind {
		return false
	}
	if p.kind == "call" {
		return p.name == sent.name && sameJSON(p.text, sent.text)
	}
	text := strings.TrimSpace(p.text)
	return text == strings.TrimSpace(sent.text) || p.kind == "result" && text == strings.TrimSpace(reminder.ReplaceAllString(sent.text, ""))
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// excuse counts what was left out of a request.
func (r *report) excuse(met []excuse) {
	if r.excused == nil {
		r.excused = map[string]int{}
	}
	for _, e := range met {
		r.excused[e.what]++
	}
}

// printExcuses says which differences were met, and why they are.
func (r *report) printExcuses() {
	for _, e := range excuses() {
		if n := r.excused[e.what]; n > 0 {
			fmt.Printf("not replayed: %s: %s: %s (%d times)\n", orAll(e.runtime), e.what, e.why, n)
		}
	}
}

func orAll(runtime string) string {
	if runtime == "" {
		return "all"
	}
	return runtime
}
