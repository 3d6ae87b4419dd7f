//go:build linux || darwin

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/tier"
)

// hostile is text that does something to a terminal: it moves the cursor,
// colours, clears, turns the direction of writing, hides, or ends lines.
const hostile = "a\x1b[31mred\x1b[2J\rover\bb\x07bell\u009b5mc1\u202eltr\u2066iso\u200bzero\u2028line\x7fdel"

// hostileName is what of it a file name may hold on the systems of this test,
// with a byte that is no UTF-8 where the file system takes it.
const hostileName = "a\x1b[31mred\rover\bb\x07\u009b5mc1\u202eltr\u2066\u200b\u2028\x7f"

// hostileHome is a home in which everything that a person or an agent can name
// is named so. One agent and its session have plain names and hostile texts.
func hostileHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	const plain = "5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"
	sessions := ".openclaw/agents/plain/sessions/"
	write(sessions+plain+".jsonl", hostileLog(t, plain))
	write(sessions+hostileName+".jsonl", hostileLog(t, hostile))
	write(sessions+"6f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c.jsonl", hostileLog(t, hostile))
	write(sessions+plain+".jsonl.lock", hostile)
	write(sessions+hostileName+".jsonl.lock", hostile)
	index := map[string]any{
		"agent:plain:main":             map[string]any{"sessionId": plain, "updatedAt": 1, "label": hostile, "model": hostile, "displayName": hostile},
		"agent:plain:group:" + hostile: map[string]any{"sessionId": "6f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c", "updatedAt": 1, "model": hostile},
		hostile:                        map[string]any{"sessionId": hostile, "updatedAt": hostile},
	}
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	write(sessions+"sessions.json", string(text))
	write(".openclaw/agents/"+hostileName+"/sessions/"+plain+".jsonl", hostileLog(t, plain))
	write(".openclaw/agents/broken/sessions/sessions.json", hostile)
	write(".openclaw/agents/broken/sessions/"+plain+".jsonl", hostile)
	write(".pi/agent/sessions/--"+hostileName+"--/2026-03-01T10-00-00-000Z_"+plain+".jsonl", hostileLog(t, hostile))
	write(".pi/agent/sessions/--"+hostileName+"--/"+hostileName+".jsonl", hostileLog(t, hostile))
	write(".pi/agent/sessions/"+hostileName, "a file")
	return home
}

// hostileLog is a session whose every text is hostile.
func hostileLog(t *testing.T, id string) string {
	t.Helper()
	var b strings.Builder
	line := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		// The encoder escapes what is below the space; the rest stands raw.
		b.Write(append(text, '\n'))
	}
	line(map[string]any{"type": "session", "version": 3, "id": id, "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/repo/" + hostile})
	parent := any(nil)
	for i := range 8 {
		role := "user"
		message := map[string]any{"content": []any{map[string]any{"type": "text", "text": fmt.Sprintf("importer %d NUL\x00 %s", i, hostile)}}}
		if i%2 == 1 {
			role = "assistant"
			message["stopReason"], message["model"], message["provider"] = "stop", hostile, hostile
		}
		message["role"] = role
		entry := fmt.Sprintf("%08x", i)
		line(map[string]any{"type": "message", "id": entry, "parentId": parent, "timestamp": "2026-03-01T10:00:00.000Z", "message": message})
		parent = entry
	}
	b.WriteString(hostile + " is no JSON\n")
	return b.String()
}

// hostileCommands are all commands that print something of a home, and those
// that are given hostile words.
func hostileCommands() [][]string {
	return [][]string{
		{"sizes"}, {"sizes", "--all"}, {"sizes", "--by-type"}, {"stores"}, {"doctor"}, {"config", "show"},
		{"compact", "--all", "--force", "--dry-run"}, {"compact", "--all", "--force"}, {"compact", "--agent", "plain", "--force"},
		{"compact", "--session", hostile}, {"compact", "--session", "6f0c1c2e", "--force"}, {"undo", hostile}, {"archives", "verify", hostile}, {"doctor", "--fix"}, {"doctor", hostile},
		{"compact", "--agent", hostile}, {"compact", "--strategy", hostile, "--all"}, {"compact", "--" + hostileName},
		{"archive", "--all"}, {"archives", "list"}, {"archives", "verify"}, {"archives", "show", hostile}, {"restore", hostile},
		{"restore", "5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c", "--dry-run"}, {"archives", "prune", "--max-age", hostile},
		{"recall", "importer"}, {"recall", "--full", "importer"}, {"recall", hostile}, {"recall", "--agent", hostile, "x"}, {"recall", "--since", hostile, "x"},
		{"memory", "stats"}, {"memory", "verify"}, {"memory", "reindex"}, {"memory", "reindex", "--from-archives"},
		{"memory", "forget", "--agent", "plain"}, {"memory", "forget", "--agent", hostile, "--yes"}, {"memory", "forget", "--agent", "plain", "--dry-run"},
		{"clean", "--max-age", "1s", "--dry-run"}, {"clean", "--max-age", hostile},
		{hostile}, {"sizes", hostile}, {"--runtime", hostile, "sizes"}, {"--store", hostile, "sizes"}, {"--store", "pi=/" + hostileName, "sizes"},
		{"--config", "/" + hostileName, "sizes"}, {"--config", "CONFIG", "sizes"}, {"--config", "CONFIG", "doctor"}, {"--data-dir", "/dev/null/" + hostileName, "compact", "--all"},
		{"log"}, {"log", "--agent", hostile}, {"archives", "show", "5f0c1c2e", "--text"}, {"archives", "show", "--lines", hostile, "5f0c1c2e"}, {"help", hostile},
		{"__complete", "sizes", "--agent", ""}, {"__complete", "compact", "--session", ""}, {"__complete", "recall", "--session", ""},
		{"__complete", "archives", "show", ""}, {"__complete", "undo", ""}, {"__complete", "archives", "show", hostile},
		{"memory", "forget", "--agent", "plain", "--yes"},
	}
}

// Nothing that stands in a session, an id, a label or a file name reaches the
// terminal as it is: not on stdout, not on stderr, not in JSON. The smoke share takes
// each command once, in turn as text and as JSON.
func TestNothingHostileIsPrinted(t *testing.T) {
	program := buildProgram(t)
	for _, asJSON := range []bool{false, true} {
		home := hostileHome(t)
		config := filepath.Join(filepath.Dir(home), "config.yaml")
		if err := os.WriteFile(config, []byte("\"x"+strings.ToValidUTF8(strings.Map(onlyYAML, hostile), "")+"\": 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for n, args := range hostileCommands() {
			if tier.Smoke() && asJSON == (n%2 == 0) {
				continue // each changes the home, but none needs the one before
			}
			for i := range args {
				args[i] = strings.Replace(args[i], "CONFIG", config, 1)
			}
			if asJSON {
				args = append([]string{"--json"}, args...)
			}
			printed(t, program, home, args)
		}
	}
}

// onlyYAML keeps what a YAML file may hold.
func onlyYAML(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// printed runs a command and looks at every rune that it prints.
func printed(t *testing.T, program, home string, args []string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, ended := err.(*exec.ExitError); !ended {
			t.Fatal(err)
		}
	}
	for stream, text := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
		if i, bad := firstHostile(text); bad {
			t.Errorf("%q prints on %s: %q", args, stream, text[max(0, i-60):min(len(text), i+20)])
		}
	}
}

func firstHostile(text string) (int, bool) {
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n' || r == '\t':
		case r == utf8.RuneError && size == 1, unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == 0x2028, r == 0x2029:
			return i, true
		}
	}
	return 0, false
}
