package adapters_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// logGenerator draws logs: mostly what runtimes write, with forks, copies,
// compactions and resets, and now and then a field of any shape and a line
// that is no record.
type logGenerator struct {
	t     *rapid.T
	lines []string
	ids   []string // of the entries so far
	last  string
}

func drawLog(t *rapid.T) []byte {
	g := &logGenerator{t: t}
	if g.chance(8, "header") {
		g.header()
	}
	for range rapid.IntRange(0, 25).Draw(t, "records") {
		g.line()
	}
	end := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\n\n", "\x00\n"}).Draw(t, "line end")
	log := strings.Join(g.lines, end)
	if g.chance(8, "last line ends") {
		log += end
	}
	if g.chance(1, "BOM") {
		log = "\xEF\xBB\xBF" + log
	}
	return []byte(log)
}

// chance is true in n of 10 draws.
func (g *logGenerator) chance(n int, what string) bool {
	return rapid.IntRange(0, 9).Draw(g.t, what) < n
}

func (g *logGenerator) pick(what string, values ...string) string {
	return rapid.SampledFrom(values).Draw(g.t, what)
}

func (g *logGenerator) line() {
	switch rapid.IntRange(0, 19).Draw(g.t, "line") {
	case 0:
		g.lines = append(g.lines, g.pick("noise", "", "oops", "42", `"text"`, "null", "[1,2]", "true", "\x00\x00", "nan"))
	case 1:
		if len(g.lines) > 0 {
			g.lines = append(g.lines, rapid.SampledFrom(g.lines).Draw(g.t, "copy"))
		}
	case 2:
		if g.chance(3, "another header") {
			g.header()
		}
	default:
		g.entry()
	}
}

func (g *logGenerator) header() {
	id := g.pick("session", "s1", "s2", "0b6f2a54-7f61-4d3e-9a53-0c1c2d3e4f50")
	g.lines = append(g.lines, fmt.Sprintf(`{"type":"session","version":%s,"id":%q,"timestamp":%s}`,
		g.pick("version", "1", "2", "3", "3", "7", "null"), id, g.time()))
}

func (g *logGenerator) entry() {
	var members []string
	kind := g.pick("type", "message", "message", "message", "message", "message", "message", "compaction", "branch_summary",
		"custom_message", "model_change", "custom", "reset", "hologram", "label")
	if kind == "reset" && !g.chance(3, "reset") {
		kind = "message"
	}
	members = append(members, fmt.Sprintf(`"type":%q`, kind))
	members = append(members, g.link()...)
	members = append(members, `"timestamp":`+g.time())
	switch kind {
	case "message":
		members = append(members, `"message":`+g.odd("message", g.message()))
	case "compaction":
		members = append(members, `"summary":`+g.odd("summary", g.text()), g.kept())
	case "branch_summary":
		members = append(members, `"summary":`+g.odd("summary", g.text()), `"fromId":"x"`)
	case "custom_message":
		members = append(members, `"customType":`+g.pick("customType", `"ci"`, `"openclaw.runtime-context"`), `"content":`+g.odd("content", g.content()))
	case "custom":
		members = append(members, `"customType":"model-snapshot"`, `"data":`+g.anything())
	}
	if g.chance(1, "extra") {
		members = append(members, g.pick("extra member", `"x":[{"type":"message"}]`, `"message":null`, `"type":"message"`, `"Type":"label"`, `"id":"again"`))
	}
	if g.chance(1, "shuffle") {
		members = rapid.Permutation(members).Draw(g.t, "order")
	}
	space := g.pick("space", "", "", " ")
	g.lines = append(g.lines, "{"+strings.Join(members, ","+space)+"}")
}

// link draws the id and the parent of an entry.
func (g *logGenerator) link() []string {
	if g.chance(1, "no id") {
		return nil
	}
	id := fmt.Sprintf("%08x", len(g.lines)+1)
	switch rapid.IntRange(0, 30).Draw(g.t, "id") {
	case 0:
		id = g.known("known id")
	case 1:
		id = "0b6f2a54-7f61-4d3e-9a53-0c1c2d3e4f5" + fmt.Sprint(len(g.lines)%10)
	}
	parent := fmt.Sprintf(`"parentId":%q`, g.last)
	switch rapid.IntRange(0, 14).Draw(g.t, "parent") {
	case 0:
		parent = `"parentId":null`
	case 1:
		parent = `"parentId":"lost"`
	case 2, 3:
		parent = fmt.Sprintf(`"parentId":%q`, g.known("fork"))
	case 4:
		parent = g.pick("odd parent", `"parentId":7`, `"x":0`, `"parentId":"s1"`, `"parentId":{}`, fmt.Sprintf(`"parentId":%q`, id))
	}
	if g.last == "" {
		parent = g.pick("first parent", `"parentId":null`, `"parentId":null`, `"parentId":"elsewhere"`, `"x":1`)
	}
	g.last = id
	g.ids = append(g.ids, id)
	return []string{fmt.Sprintf(`"id":%q`, id), parent}
}

func (g *logGenerator) known(what string) string {
	if len(g.ids) == 0 {
		return "none"
	}
	return rapid.SampledFrom(g.ids).Draw(g.t, what)
}

func (g *logGenerator) kept() string {
	switch rapid.IntRange(0, 4).Draw(g.t, "kept") {
	case 0:
		return fmt.Sprintf(`"firstKeptEntryIndex":%d`, rapid.IntRange(-1, 12).Draw(g.t, "kept index"))
	case 1:
		return `"tokensBefore":50000`
	}
	return fmt.Sprintf(`"firstKeptEntryId":%q`, g.known("first kept"))
}

func (g *logGenerator) message() string {
	role := g.pick("role", "user", "assistant", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "system", "wizard", "compactionSummary")
	members := []string{fmt.Sprintf(`"role":%q`, role), `"content":` + g.odd("content", g.content())}
	if g.chance(8, "message time") {
		members = append(members, `"timestamp":`+g.time())
	}
	switch role {
	case "assistant":
		members = append(members, g.pick("provider", `"provider":"anthropic","model":"claude"`, `"provider":"openclaw","model":"delivery-mirror"`),
			`"stopReason":`+g.pick("stop", `"stop"`, `"stop"`, `"toolUse"`, `"error"`, `"aborted"`, "null", "7"))
		if g.chance(7, "usage") {
			members = append(members, `"usage":`+g.odd("usage", g.usage()))
		}
	case "toolResult":
		members = append(members, `"toolCallId":"c1","toolName":"exec","isError":`+g.odd("isError", "true"),
			`"details":`+g.odd("details", `{"exitCode":1,"aggregated":"x"}`))
	case "bashExecution":
		members = append(members, `"command":`+g.text(), `"output":`+g.odd("output", g.text()), `"exitCode":`+g.odd("exit", "2"),
			`"excludeFromContext":`+g.pick("exclude", "true", "false", "null"))
	case "custom", "hookMessage":
		members = append(members, `"customType":`+g.odd("customType", `"ci"`))
	case "compactionSummary":
		members = append(members, `"summary":`+g.text())
	}
	if g.chance(1, "twice") {
		members = append(members, `"content":`+g.content())
	}
	if g.chance(1, "shuffled message") {
		members = rapid.Permutation(members).Draw(g.t, "message order")
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (g *logGenerator) usage() string {
	n := func(what string) string {
		return g.pick(what, "0", "5", "1200", "12.0", "1e3", `"300"`, "12.5", "-4", "null", "99999999999999999999")
	}
	return fmt.Sprintf(`{"input":%s,"output":%s,"cacheRead":%s,"totalTokens":%s,"cost":{"input":0.1}}`,
		n("input"), n("output"), n("cacheRead"), n("total"))
}

func (g *logGenerator) content() string {
	if g.chance(3, "content is a string") {
		return g.text()
	}
	var blocks []string
	for range rapid.IntRange(0, 3).Draw(g.t, "blocks") {
		blocks = append(blocks, g.block())
	}
	if len(blocks) == 1 && g.chance(2, "bare block") {
		return blocks[0]
	}
	return "[" + strings.Join(blocks, ",") + "]"
}

func (g *logGenerator) block() string {
	switch rapid.IntRange(0, 8).Draw(g.t, "block") {
	case 0:
		return g.text()
	case 1:
		return `{"type":"thinking","thinking":` + g.text() + `,"thinkingSignature":"sig=="}`
	case 2, 3:
		return `{"type":"toolCall","id":"c1","name":"read","arguments":` + g.odd("arguments", `{"path": "x"}`) + `,"partialJson":"{"}`
	case 4:
		return `{"type":"image","data":` + g.odd("data", `"iVBORw0KGgo="`) + `,"mimeType":"image/png"}`
	case 5:
		return `{"type":"hologram","text":` + g.odd("text", g.text()) + `}`
	case 6:
		return g.anything()
	}
	return `{"type":"text","text":` + g.odd("text", g.text()) + `}`
}

func (g *logGenerator) text() string {
	return g.pick("text value", `"hello"`, `"ok"`, `""`, `" \n "`, `"naïve ☕ 你好"`, `"a\nb\tc \"quoted\" \\ \/"`, `"\u00e9\ud83d\ude00"`,
		`"lone \ud83d"`, "\"bad \xff\xc3 bytes\"", `"nul \u0000"`, `"`+strings.Repeat("long text ", 40)+`"`)
}

// odd replaces a value by one of any shape, seldom.
func (g *logGenerator) odd(what, value string) string {
	if rapid.IntRange(0, 19).Draw(g.t, "odd "+what) == 0 {
		return g.anything()
	}
	return value
}

func (g *logGenerator) anything() string {
	return g.pick("anything", "null", "7", "-1.5e3", "true", `""`, `"text"`, "[]", "{}", `{"type":"text"}`, `{"type":"text","text":"object"}`,
		`["bare",{"type":"text","text":7},null,[]]`, `{"exitCode":"3","role":"user"}`, `[[[{"a":[]}]]]`)
}

func (g *logGenerator) time() string {
	return g.pick("time", "1768035601000", "1768035602000", `"2026-01-10T09:00:01Z"`, `"2026-01-10T10:00:02+01:00"`, "1768035604", "1768035605.25",
		`"1768035606000"`, `"2026-01-10 09:00:07"`, `"2026-01-10T09:00:08.123456789Z"`, "null", `"yesterday"`, "0", "-1", "253402300800000",
		"1768035608123456789", "1768035608123456", `"2026-01-10T09:00Z"`, `"2026-01-10T09:00:00-0330"`, "[]", `"2126-01-10T09:00:00Z"`)
}
