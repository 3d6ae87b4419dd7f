package hooks

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// deep is 1 between so many brackets.
func deep(depth int, open, end string) string {
	return strings.Repeat(open, depth) + "1" + strings.Repeat(end, depth)
}

// How deep settings may nest, to the level; what is in strings and comments does
// not count. A million levels are refused, not the end of the program.
func TestNesting(t *testing.T) {
	for _, c := range []struct {
		text string
		deep bool
	}{
		{deep(10_000, "[", "]"), false},
		{deep(10_001, "[", "]"), true},
		{deep(10_001, `{"a":`, "}"), true},
		{strings.Repeat("[],", 20_000), false},
		{`"` + strings.Repeat("[", 20_000) + `"`, false},
		{`"\"` + strings.Repeat("[", 20_000) + `"`, false},
		{`"\\"` + strings.Repeat("[", 20_000), true},
		{"//" + strings.Repeat("[", 20_000), false},
		{"// \n" + strings.Repeat("[", 20_000), true},
		{"/*" + strings.Repeat("[", 20_000) + "*/", false},
		{"/**/" + strings.Repeat("[", 20_000), true},
		{"/*/" + strings.Repeat("[", 20_000), false},
		{"/" + strings.Repeat("[", 20_000), true},
		{deep(10_001, "/*]]*/[", "]"), true},
		{deep(1_000_000, `[ "]", `, "]"), true},
	} {
		if got := nestedTooDeep([]byte(c.text)); got != c.deep {
			t.Errorf("%.20q... of %d bytes: %v", c.text, len(c.text), got)
		}
	}
	for _, text := range []string{`{"hooks":` + deep(1_000_000, "[", "]") + "}", deep(1_000_000, `{"a":`, "}")} {
		if _, err := readSettings([]byte(text)); err == nil {
			t.Errorf("%.20q... is read", text)
		}
	}
}

// foreign are settings and events as others may have written them.
func foreign(f *testing.F) {
	for _, text := range []string{
		"", "{}", "[]", "null", "1", `"x"`, "{", "\xef\xbb\xbf{}", "{\"hooks\":null}", `{"hooks":[]}`, `{"hooks":{}}`, `{"hooks":{"PreCompact":null}}`,
		`{"hooks":{"PreCompact":[null,1,{},{"hooks":{}},{"hooks":[1,{"command":1}]}]}}`, `{"hooks":{"PreCompact":[{"hooks":[{"type":"command","command":"x"}]}]}}`,
		"{// comment\n\"a\": [1, 2,],\n}", `{"mcpServers":{"sessctl":1}}`, `{"mcpServers":1}`, `{"a":1,"a":2}`,
		`{"session_id":1}`, `{"hook_event_name":"PreCompact","session_id":"x"}`, `{"type":"command","action":"new","sessionKey":"agent:a:b"}`,
		"a = 1\n", "[mcp_servers.sessctl]\ncommand = 1\n", "mcp_servers = 1\n", "[a]\nb = \"\"\"\n[mcp_servers.sessctl]\n\"\"\"\n", "[[mcp_servers]]\n",
		deep(20_000, "[", "]"), deep(20_000, `{"a":`, "}"), "a = " + deep(20_000, "[", "]"),
	} {
		f.Add([]byte(text))
	}
}

// What a runtime tells a hook is an event with a name, or refused.
func FuzzReadEvent(f *testing.F) {
	foreign(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, runtime := range Names() {
			if e, err := ReadEvent(runtime, text); err == nil && (e.Name == "" || e.Runtime != runtime) {
				t.Errorf("%s: %q is %+v", runtime, text, e)
			}
		}
	})
}

// Settings that anybody wrote take ours in and give it back with what they said
// before, or are refused.
func FuzzSettings(f *testing.F) {
	foreign(f)
	ours := inSettings{
		members:  []member{{path: []string{"mcpServers", "sessctl"}, value: map[string]any{"command": "sessctl"}}},
		elements: []element{{path: []string{"hooks", "PreCompact"}, value: command{Hooks: []entry{{Type: "command", Command: "sessctl hook run claude"}}}}},
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		with, err := ours.put(text)
		if err != nil {
			return
		}
		if !bytes.Contains(with.text, []byte("sessctl hook run claude")) {
			t.Fatalf("%q became %q without ours", text, with.text)
		}
		back, err := ours.drop(with.text, recordFile{Created: with.created, Ours: with.ours})
		if err != nil {
			t.Fatalf("%q became %q: %v", text, with.text, err)
		}
		if now, err := readSettings(back); err != nil || bytes.Contains(now.bytes(), []byte("sessctl hook run claude")) && !bytes.Contains(text, []byte("sessctl hook run claude")) {
			t.Fatalf("%q came back as %q: %v", text, back, err)
		}
	})
}

// The same for settings in TOML.
func FuzzTable(f *testing.F) {
	foreign(f)
	const name = "mcp_servers.sessctl"
	f.Fuzz(func(t *testing.T, text []byte) {
		if has, err := hasTable(text, name); has || err != nil {
			return
		}
		with, err := putTable(text, name, map[string]any{"command": "sessctl"})
		if err != nil {
			return
		}
		back, err := dropTable(with, name)
		if err != nil {
			return // a string of several lines holds what looks like ours
		}
		var was, is map[string]any
		if toml.Unmarshal(text, &was) != nil || toml.Unmarshal(back, &is) != nil || fmt.Sprint(was) != fmt.Sprint(is) {
			t.Errorf("%q became %q and came back as %q", text, with, back)
		}
	})
}
