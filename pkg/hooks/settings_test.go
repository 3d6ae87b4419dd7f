package hooks

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// What was put into settings and taken out again leaves every byte as it was.
func TestSettingsComeBack(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":          "{}",
		"nothing, spaced":  "{\n}\n",
		"one line":         `{"model":"opus","hooks":{"Stop":[]}}`,
		"one line, spaced": `{ "model": "opus" }`,
		"two spaces":       "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\n    ]\n  }\n}\n",
		"four spaces":      "{\n    \"model\": \"opus\"\n}",
		"tabs":             "{\n\t\"model\": \"opus\",\n\t\"hooks\": {}\n}\n",
		"comments":         "// mine\n{\n  // the model\n  \"model\": \"opus\", /* best */\n  \"hooks\": {\n    \"SessionEnd\": [ // ends\n      1, // one\n    ],\n  },\n}\n",
		"others' hooks":    "{\n  \"hooks\": {\n    \"SessionEnd\": [\n      {\"hooks\": []}\n    ],\n    \"PreCompact\": []\n  }\n}\n",
		"unicode":          "{\n  \"name\": \"Zoë \\u00eb 研究\"\n}\r\n",
	} {
		t.Run(name, func(t *testing.T) { comesBack(t, text) })
	}
}

func TestSettingsComeBackWhatever(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { comesBack(t, drawSettings(t)) })
}

// drawSettings is an object with some members, laid out at random.
func drawSettings(t *rapid.T) string {
	spaces := rapid.SampledFrom([]string{"", " ", "\n", "\n  ", "\n    ", "\n\t", " /* x */ ", "\n  // y\n  "})
	var value func(depth int) string
	value = func(depth int) string {
		kind := rapid.IntRange(0, 4).Draw(t, "kind")
		if kind < 3 || depth > 2 {
			return rapid.SampledFrom([]string{"1", `"text"`, "null", "true"}).Draw(t, "literal")
		}
		space := spaces.Draw(t, "space")
		var parts []string
		n := rapid.IntRange(0, 3).Draw(t, "n")
		for range n {
			part := spaces.Draw(t, "before") + value(depth+1)
			if kind == 4 {
				part = spaces.Draw(t, "before") + fmt.Sprintf("%q", rapid.SampledFrom([]string{"hooks", "SessionEnd", "mcpServers", "other", "x/y~z"}).Draw(t, "name")+fmt.Sprint(len(parts))) + ":" + value(depth+1)
			}
			parts = append(parts, part)
		}
		inside := strings.Join(parts, ",")
		if n > 0 && rapid.Bool().Draw(t, "trailing") {
			inside += spaces.Draw(t, "after") + ","
		}
		if kind == 3 {
			return "[" + inside + space + "]"
		}
		return "{" + inside + space + "}"
	}
	members := []string{}
	for _, name := range []string{"hooks", "mcpServers", "model"} {
		if !rapid.Bool().Draw(t, name) {
			continue
		}
		inside := value(0)
		if name == "hooks" {
			inside = "{" + rapid.SampledFrom([]string{"", " ", "\"SessionEnd\": []", "\n \"SessionEnd\": [1, 2,] "}).Draw(t, "hooks") + "}"
		} else if name == "mcpServers" {
			inside = "{" + spaces.Draw(t, "servers") + "}"
		}
		members = append(members, spaces.Draw(t, "member")+`"`+name+`":`+inside)
	}
	return spaces.Draw(t, "first") + "{" + strings.Join(members, ",") + spaces.Draw(t, "last") + "}" + spaces.Draw(t, "end")
}

type failer interface {
	Fatalf(format string, args ...any)
}

func comesBack(t failer, text string) {
	s, err := readSettings([]byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	hook := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "sessctl hook run claude", "timeout": 30}}}
	for _, err := range []error{
		s.add(hook, "hooks", "SessionEnd"), s.add(hook, "hooks", "PreCompact"), s.set(map[string]any{"command": "sessctl"}, "mcpServers", "sessctl"),
	} {
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	with := s.bytes()
	if got := decoded(t, with); got["mcpServers"].(map[string]any)["sessctl"].(map[string]any)["command"] != "sessctl" || !strings.Contains(fmt.Sprint(got["hooks"]), "sessctl hook run claude") {
		t.Fatalf("%q: ours is not in it: %s", text, with)
	}
	back, err := readSettings(with)
	if err != nil {
		t.Fatalf("%q became %q: %v", text, with, err)
	}
	ours := func(line string) bool { return line == "sessctl hook run claude" }
	back.removeCalls(ours, "hooks", "SessionEnd")
	back.removeCalls(ours, "hooks", "PreCompact")
	back.drop("mcpServers", "sessctl")
	back.prune(s.created)
	if got := string(back.bytes()); fmt.Sprint(decoded(t, []byte(got))) != fmt.Sprint(decoded(t, []byte(text))) {
		t.Fatalf("%q came back as %q", text, got)
	} else if standard(text) && got != text {
		t.Fatalf("%q came back as %q", text, got)
	}
}

// standard says whether a text has neither comments nor space in what is empty:
// of these only the meaning comes back, where the file has changed since.
func standard(text string) bool {
	v, err := hujson.Parse([]byte(text))
	return err == nil && v.IsStandard() && !regexp.MustCompile(`[{\[]\s+[}\]]`).MatchString(text)
}

func decoded(t failer, text []byte) map[string]any {
	plain, err := hujson.Standardize(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var got map[string]any
	if err := json.Unmarshal(plain, &got); err != nil {
		t.Fatalf("%s: %v", plain, err)
	}
	return got
}
