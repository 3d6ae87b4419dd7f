package smallpackages_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/carry"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

// calls is an answer that calls a tool with arguments.
func calls(tool, id, arguments string) replay.Message {
	return replay.Message{Role: replay.Assistant, ToolCalls: []replay.ToolCall{{ID: id, Name: tool, Arguments: arguments}}}
}

func TestCarriedPairs(t *testing.T) {
	for name, test := range map[string]struct {
		in   []replay.Message
		want []string
	}{
		"the limit came between call and result": {
			[]replay.Message{user("u"), calls("x", "a", "{}")},
			[]string{"user|u", "call|x/call_000001", "result|call_000001|" + replay.Unavailable},
		},
		"one id for two calls": {
			[]replay.Message{user("u"), calls("x", "a", "{}"), tool("a", "first"), calls("x", "a", "{}"), tool("a", "second")},
			[]string{"user|u", "call|x/call_000001", "result|call_000001|first", "call|x/call_000002", "result|call_000002|second"},
		},
		"a result without its call": {
			[]replay.Message{user("u"), tool("z", "alone")},
			[]string{"user|u [result of a call that is not in the log] alone"},
		},
		"a word between call and result": {
			[]replay.Message{user("u"), calls("x", "a", "{}"), user("wait"), tool("a", "done")},
			[]string{"user|u", "call|x/call_000001", "result|call_000001|done", "user|wait"},
		},
		"calls side by side": {
			[]replay.Message{user("u"), calls("x", "a", "{}"), calls("y", "b", "{}"), tool("b", "2"), tool("a", "1")},
			[]string{"user|u", "call|x/call_000001", "call|y/call_000002", "result|call_000001|1", "result|call_000002|2"},
		},
		"an answer in two records, and nothing but blanks": {
			[]replay.Message{user("u"), user("  \n"), replaySaid("a"), replaySaid("b")},
			[]string{"user|u", "assistant|a b"},
		},
		"what a program said, and the system": {
			[]replay.Message{{Role: replay.System, Text: "s"}, {Role: replay.User, Text: "e", Injected: "p.x"}, user("u")},
			[]string{"user|u"},
		},
		"arguments that are no object, and a name that no provider takes": {
			[]replay.Message{user("u"), calls("x", "a", `"text"`), tool("a", "1"), calls("my tool", "b", "{}"), tool("b", "2")},
			[]string{"user|u", "call|x/call_000001", "result|call_000001|1", "assistant|[tool call] my tool {}", "user|[result of my tool] 2"},
		},
	} {
		c, _ := carry.Prepare(test.in, carry.Options{Tools: carry.Mixed, Target: pi.Traits().Tools})
		if diff := cmp.Diff(test.want, carriedLines(c)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if err := carry.Check(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCarriedTools(t *testing.T) {
	long := strings.Repeat("é", codex.Traits().Tools.Longest+1)
	for name, test := range map[string]struct {
		target session.ToolNames
		how    carry.Tools
		call   replay.Message
		result string
		want   string // the call as it arrives
	}{
		"a command, in codex":              {codex.Traits().Tools, carry.Mixed, calls("bash", "a", `{"command":"ls"}`), "r", `exec_command {"cmd":"ls"}`},
		"a command of codex, in claude":    {claude.Traits().Tools, carry.Mixed, calls("shell", "a", `{"command":["bash","-lc","ls"]}`), "r", `Bash {"command":"ls"}`},
		"an edit, in pi":                   {pi.Traits().Tools, carry.Mixed, calls("Edit", "a", `{"file_path":"/f","old_string":"o","new_string":"n","replace_all":false}`), "r", `edit {"edits":[{"newText":"n","oldText":"o"}],"path":"/f"}`},
		"an edit of all, in pi":            {pi.Traits().Tools, carry.Mapped, calls("Edit", "a", `{"file_path":"/f","old_string":"o","new_string":"n","replace_all":true}`), "r", ""},
		"a part of a file":                 {pi.Traits().Tools, carry.Mapped, calls("Read", "a", `{"file_path":"/f","limit":3}`), "r", ""},
		"a tool that codex does not have":  {codex.Traits().Tools, carry.Mixed, calls("read", "a", `{"path":"/f"}`), "r", `read {"path":"/f"}`},
		"the same, mapped":                 {codex.Traits().Tools, carry.Mapped, calls("read", "a", `{"path":"/f"}`), "r", ""},
		"a result that codex would cut":    {codex.Traits().Tools, carry.Mixed, calls("bash", "a", `{"command":"ls"}`), long, ""},
		"the same in pi":                   {pi.Traits().Tools, carry.Mixed, calls("exec", "a", `{"command":"ls"}`), long, `bash {"command":"ls"}`},
		"a file that changed, in claude":   {claude.Traits().Tools, carry.Mixed, calls("read", "a", `{"path":"/changed"}`), "r", `read {"path":"/changed"}`},
		"one that is the same, in claude":  {claude.Traits().Tools, carry.Mixed, calls("read", "a", `{"path":"/f"}`), "r", `Read {"file_path":"/f"}`},
		"claude's own name for a changed":  {claude.Traits().Tools, carry.Mixed, calls("Read", "a", `{"file_path":"/changed"}`), "r", ""},
		"claude's own name, and odd words": {claude.Traits().Tools, carry.Mixed, calls("Write", "a", `{"odd":1}`), "r", ""},
		"all as text":                      {pi.Traits().Tools, carry.Texts, calls("bash", "a", `{"command":"ls"}`), "r", ""},
	} {
		changed := func(path string, _ int64) bool { return path == "/changed" }
		c, _ := carry.Prepare([]replay.Message{user("u"), test.call, tool("a", test.result)}, carry.Options{Tools: test.how, Target: test.target, Changed: changed})
		got := ""
		for _, m := range c.Messages {
			for _, call := range m.Calls {
				got = call.Name + " " + string(call.Arguments)
			}
		}
		if text := strings.Join(carriedLines(c), " "); got != test.want || !strings.Contains(text, test.result) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// A secret is masked wherever it stands, and a number in the same arguments stays.
func TestCarriedSecrets(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	in := []replay.Message{user("my key is " + secret), calls("x", "a", `{"n":12345678901234567890,"k":["`+secret+`"]}`), tool("a", secret)}
	c, report := carry.Prepare(in, carry.Options{Tools: carry.Mixed})
	text, err := json.Marshal(c)
	if err != nil || strings.Contains(string(text), secret) || !strings.Contains(string(text), "12345678901234567890") || report.Masked != 3 {
		t.Errorf("%d masked: %s %v", report.Masked, text, err)
	}
	if c, _ = carry.Prepare(in, carry.Options{Tools: carry.Mixed, KeepSecrets: true}); !strings.Contains(c.Messages[0].Text, secret) {
		t.Error("masked all the same")
	}
}

func TestRefusedByProviders(t *testing.T) {
	said := func(role session.Role, text string, calls ...session.CarriedCall) session.CarriedMessage {
		return session.CarriedMessage{Role: role, Text: text, Calls: calls}
	}
	call := func(id, name, arguments string) session.CarriedCall {
		return session.CarriedCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
	}
	result := func(id string) session.CarriedMessage {
		return session.CarriedMessage{Role: session.RoleToolResult, CallID: id, ToolName: "x"}
	}
	const person, model = session.RoleUser, session.RoleAssistant
	good := call("a", "x", "{}")
	for name, messages := range map[string][]session.CarriedMessage{
		"no result":           {said(model, "", good)},
		"a result too late":   {said(model, "", good), said(person, "u"), result("a")},
		"a second result":     {said(model, "", good), result("a"), result("a")},
		"a result of nothing": {said(person, "u"), result("a")},
		"one id twice":        {said(model, "", good), result("a"), said(model, "", good), result("a")},
		"a long id":           {said(model, "", call(strings.Repeat("a", 41), "x", "{}")), result(strings.Repeat("a", 41))},
		"an odd name":         {said(model, "", call("a", "x y", "{}")), result("a")},
		"no object":           {said(model, "", call("a", "x", "[]")), result("a")},
		"an empty text":       {said(person, " ")},
		"a person twice":      {said(person, "u"), said(person, "u")},
		"a person calls":      {said(person, "u", good), result("a")},
		"a system":            {said(session.RoleSystem, "s")},
	} {
		if carry.Check(session.Carried{Messages: messages}) == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	if err := carry.Check(session.Carried{Messages: []session.CarriedMessage{said(person, "u"), said(model, "", good), result("a"), said(person, "v")}}); err != nil {
		t.Error(err)
	}
}

// What a log lacks of what was carried is seen.
func TestCarriedIsReadBack(t *testing.T) {
	all := []replay.Message{user("u"), calls("x", "a", "{}"), tool("a", "done"), replaySaid("end")}
	want, _ := carry.Prepare(all, carry.Options{Tools: carry.Mixed})
	if err := carry.Same(want, all); err != nil {
		t.Error(err)
	}
	for i := range all {
		less := append(append([]replay.Message{}, all[:i]...), all[i+1:]...)
		if carry.Same(want, less) == nil {
			t.Errorf("nobody misses message %d", i+1)
		}
	}
}
