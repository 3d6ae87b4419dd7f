package main

import "strings"

// context appends the block that OpenClaw puts before a turn.
func (l *log) context(local string) {
	if !l.dialect.openclaw {
		return
	}
	text := "<runtime-context>\nLocal time: " + local + " Europe/Berlin. Channel: webchat. Workspace: " + l.dialect.cwd + ".\n</runtime-context>"
	l.custom("custom_message", "openclaw.runtime-context", "content", text, "display", false, "details", newObject("source", "openclaw-runtime-context"))
}

// mirror appends what the gateway sent in the agent's name.
func (l *log) mirror(text string) {
	l.wait(300, 900)
	u := &usage{failed: true}
	m := newObject("role", "assistant", "content", []object{block(text)}, "api", "openai-responses", "provider", "openclaw",
		"model", "delivery-mirror", "usage", u, "stopReason", "stop", "timestamp", l.now.UnixMilli())
	l.entry("message", "message", m)
}

// heartbeat appends the runtime's question whether anything is to be done,
// and the answer that nothing is.
func (l *log) heartbeat() {
	l.wait(1_200_000, 1_500_000)
	l.user("Heartbeat. Read HEARTBEAT.md if it exists and do what it says. If nothing needs attention, reply HEARTBEAT_OK.")
	l.assistant([]object{block("HEARTBEAT_OK")}, false)
}

// fail appends a call of the model that did not work.
func (l *log) fail(reason string) {
	l.wait(9_000, 15_000)
	code, kind, _ := strings.Cut(reason, " ")
	l.speak(&usage{failed: true}, newObject("role", "assistant", "content", []object{}),
		newObject("stopReason", "error", "errorMessage", code+" "+kind, "errorCode", kind))
}

// compact appends a compaction that keeps the last turn.
func (l *log) compact(it item) {
	l.wait(2_000, 4_000)
	tokens := 0
	for _, c := range it.arg {
		tokens = tokens*10 + int(c-'0')
	}
	l.entry("compaction", "summary", it.body, "firstKeptEntryId", l.lastUser(), "tokensBefore", tokens,
		"details", newObject("readFiles", []string{"cmd/import/main.go", "web/i18n/ja.json"}, "modifiedFiles", []string{"internal/reserve/rules.go", "migrations/0009_barcodes.sql"}),
		"fromHook", false)
	l.weight = len(it.body)
}

// lastUser returns the id of the last question.
func (l *log) lastUser() string {
	for i := len(l.lines) - 1; i > 0; i-- {
		record := l.lines[i].record
		if record == nil || record[0].value != "message" {
			continue
		}
		if message, ok := record.get("message").(object); ok && message.get("role") == "user" {
			return record.get("id").(string)
		}
	}
	return ""
}

func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// restart appends a call whose result was cut off in the middle of its line
// when the gateway died, and what the gateway wrote when it was back.
func (l *log) restart(command string) {
	c := l.call(item{kind: "exec", arg: command})
	l.assistant([]object{c.block()}, true)
	good := l.parent
	c.output = l.expand.text("{{log photo 9}}")
	l.result(c)
	damaged, err := encode(l.lines[len(l.lines)-1].record)
	if err != nil {
		panic(err)
	}
	l.lines[len(l.lines)-1] = line{raw: damaged[:len(damaged)*2/5]}
	l.parent = good
	l.wait(40_000, 50_000)
	text := "No result: the gateway restarted while this command ran."
	l.entry("message", "message", newObject("role", "toolResult", "toolCallId", c.id, "toolName", c.tool, "content", []object{block(text)},
		"details", newObject("status", "failed"), "isError", true, "timestamp", l.now.UnixMilli()))
}
