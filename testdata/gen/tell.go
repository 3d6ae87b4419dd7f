package main

import (
	"encoding/base64"
	"strings"
	"time"
)

// tell writes the items of an act. An assistant's text and the tool calls
// below it are one message; the results follow.
func (l *log) tell(items []item) {
	for i := 0; i < len(items); i++ {
		it := items[i]
		switch {
		case it.kind == "agent" || it.kind == "think" || it.tool():
			n := turnLength(items[i:])
			l.turn(items[i : i+n])
			i += n - 1
		default:
			l.step(it)
		}
	}
}

// turnLength counts the items of one message of the assistant.
func turnLength(items []item) int {
	spoken := false
	for n, it := range items {
		switch {
		case it.kind == "think" && n == 0, it.tool():
		case it.kind == "agent" && !spoken && n <= 1 && (n == 0 || items[0].kind == "think"):
			spoken = true
		default:
			return n
		}
	}
	return len(items)
}

func (l *log) step(it item) {
	switch it.kind {
	case "at":
		l.moveTo(clock(it.arg))
		l.context(it.arg)
	case "user":
		l.user(it.body)
	case "photo":
		l.photo(it.body)
	case "mirror":
		l.mirror(it.body)
	case "beat":
		l.heartbeat()
	case "fail":
		l.fail(it.arg)
	case "fork":
		l.fork = fork{l.parent, l.weight}
	case "abandon":
		l.parent, l.weight = l.fork.parent, l.fork.weight
	case "compact":
		l.compact(it)
	case "restart":
		l.restart(it.arg)
	default:
		panic("story: unknown step @" + it.kind)
	}
}

// moveTo sets the clock, which never goes back.
func (l *log) moveTo(t time.Time) {
	if t.Before(l.now) {
		t = l.now.Add(time.Minute)
	}
	l.now = t
}

// message appends a message and counts its text.
func (l *log) message(fields ...any) *line {
	return l.entry("message", "message", append(newObject(fields...), member{"timestamp", l.now.UnixMilli()}))
}

func (l *log) user(text string) {
	l.wait(20_000, 90_000)
	l.weight += len(text)
	if l.random.IntN(3) == 0 {
		l.message("role", "user", "content", text)
		return
	}
	l.message("role", "user", "content", []object{block(text)})
}

func block(text string) object { return newObject("type", "text", "text", text) }

func (l *log) photo(text string) {
	l.wait(20_000, 90_000)
	l.weight += len(text) + 4800
	data := base64.StdEncoding.EncodeToString(labelPhoto(l.random))
	l.message("role", "user", "content", []object{block(text), newObject("type", "image", "data", data, "mimeType", "image/png")})
}

// turn writes one message of the assistant and the results of its calls.
func (l *log) turn(items []item) {
	var content []object
	var calls []call
	for _, it := range items {
		switch it.kind {
		case "think":
			content = append(content, l.thinking(it.body))
		case "agent":
			content = append(content, block(it.body))
		default:
			c := l.call(it)
			calls = append(calls, c)
			content = append(content, c.block())
		}
	}
	if items[0].kind != "think" && l.random.IntN(4) == 0 {
		content = append([]object{l.thinking(thought(items))}, content...)
	}
	l.assistant(content, len(calls) > 0)
	for _, c := range calls {
		l.result(c)
	}
}

// thought is what a model might have been thinking before it did this.
func thought(items []item) string {
	for _, it := range items {
		if it.tool() {
			return "The next thing to know comes from " + it.kind + " " + firstWords(it.arg, 8) + ". Then decide."
		}
	}
	return "I have what I need. Keep it short, with the numbers: " + firstWords(items[0].body, 10) + "."
}

func firstWords(s string, n int) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(n, len(words))], " ")
}

func (l *log) thinking(text string) object {
	signature := make([]byte, 120+l.random.IntN(200))
	for i := range signature {
		signature[i] = byte(l.random.Uint32())
	}
	return newObject("type", "thinking", "thinking", text, "thinkingSignature", base64.StdEncoding.EncodeToString(signature))
}

// assistant appends a message of the model.
func (l *log) assistant(content []object, calls bool) {
	l.wait(2_000, 12_000)
	raw, err := encode(content)
	if err != nil {
		panic(err)
	}
	l.weight += len(raw)
	u := &usage{phase: l.phase(), weight: l.weight, output: len(raw)}
	reason := "stop"
	if calls {
		reason = "toolUse"
	}
	l.speak(u, newObject("role", "assistant", "content", content), newObject("stopReason", reason))
}

// speak appends a message of the assistant: head, origin and usage, and what
// comes after them.
func (l *log) speak(u *usage, head, tail object) {
	d := l.dialect
	m := append(head, newObject("api", d.api, "provider", d.provider, "model", d.model, "usage", u)...)
	m = append(m, tail...)
	m = append(m, member{"timestamp", l.now.UnixMilli()})
	l.entry("message", "message", m).usage = u
}

// phase is the part of the context's growth that the log is in.
func (l *log) phase() int {
	n := 0
	for _, line := range l.lines {
		if line.record != nil && line.record[0].value == "compaction" {
			n++
		}
	}
	return n
}
