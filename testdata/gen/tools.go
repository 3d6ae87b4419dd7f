package main

import (
	"fmt"
	"strings"
)

// call is one call of a tool and what comes of it.
type call struct {
	id   string
	tool string
	args object
	// partial is a leftover that the runtimes write now and then: the
	// arguments once more, as text.
	partial bool

	output  string
	exit    int
	command bool
}

func (l *log) call(it item) call {
	c := call{id: "toolu_01" + l.token(22), tool: it.kind, exit: it.exit, output: l.expand.text(it.body), partial: l.random.IntN(40) == 0}
	switch it.kind {
	case "exec":
		c.tool, c.command = l.dialect.shell, true
		c.args = newObject("command", it.arg)
		if l.random.IntN(5) == 0 {
			c.args = append(c.args, member{"timeout", 60 * (1 + l.random.IntN(10))})
		}
	case "read":
		c.args = newObject("path", it.arg)
	case "write":
		c.args = newObject("path", it.arg, "content", c.output)
		c.output = fmt.Sprintf("Successfully wrote %d bytes to %s", len(c.output), it.arg)
	case "edit":
		before, after := hunk(it.body)
		c.args = newObject("path", it.arg, "oldText", before, "newText", after)
		c.output = fmt.Sprintf("Successfully replaced text in %s.", it.arg)
	case "fetch":
		c.tool, c.args = "web_fetch", newObject("url", it.arg)
	case "search":
		c.tool, c.args = "memory_search", newObject("query", it.arg, "maxResults", 10)
	case "message":
		channel, to, _ := strings.Cut(it.arg, " ")
		c.args = newObject("action", "send", "channel", channel, "to", to, "message", it.body)
		c.output = fmt.Sprintf(`{"ok":true,"messageId":"%d"}`, 4000+l.random.IntN(900))
	}
	return c
}

func (c call) block() object {
	o := newObject("type", "toolCall", "id", c.id, "name", c.tool, "arguments", c.args)
	if c.partial {
		raw, err := encode(c.args)
		if err != nil {
			panic(err)
		}
		o = append(o, member{"partialJson", string(raw)})
	}
	return o
}

// result appends what a call printed.
func (l *log) result(c call) {
	duration := 40 + l.random.IntN(9000)
	l.wait(duration, duration+60)
	text, failed := c.output, false
	if c.command && c.exit != 0 {
		text, failed = l.exited(c)
	}
	l.weight += len(text)
	m := newObject("role", "toolResult", "toolCallId", c.id, "toolName", c.tool, "content", []object{block(text)})
	if details := l.details(c, duration); details != nil {
		m = append(m, member{"details", details})
	}
	m = append(m, newObject("isError", failed, "timestamp", l.now.UnixMilli())...)
	l.entry("message", "message", m)
}

// exited tells the exit code in the runtime's way: OpenClaw adds a line and
// the result is no error, pi adds another line and it is one.
func (l *log) exited(c call) (text string, failed bool) {
	if l.dialect.openclaw {
		return fmt.Sprintf("%s\n\n(Command exited with code %d)", c.output, c.exit), false
	}
	return fmt.Sprintf("%s\n\n\nCommand exited with code %d", c.output, c.exit), true
}

// details is what a runtime keeps of a call beside the text for the model.
func (l *log) details(c call, duration int) object {
	switch {
	case c.command && l.dialect.openclaw:
		return newObject("status", "completed", "exitCode", c.exit, "exitSignal", nil, "exitReason", "exit", "durationMs", duration,
			"aggregated", c.output, "noOutputTimedOut", false, "cwd", l.dialect.cwd)
	case c.tool == "edit":
		old, now := c.args.get("oldText").(string), c.args.get("newText").(string)
		return newObject("diff", "-"+strings.ReplaceAll(old, "\n", "\n-")+"\n+"+strings.ReplaceAll(now, "\n", "\n+"))
	}
	return nil
}
