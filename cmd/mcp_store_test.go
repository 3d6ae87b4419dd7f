package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/front/mcptool"
)

// memory_store tells what is wrong, stores for whom it may, and refuses what the
// server itself has returned.
func TestMCPStore(t *testing.T) {
	a := mcpHome(t)
	lesson := func(text string, more ...string) map[string]any {
		args := map[string]any{"text": text, "category": "lesson"}
		for i := 0; i+1 < len(more); i += 2 {
			args[more[i]] = more[i+1]
		}
		return args
	}
	t.Run("errors say what to do", func(t *testing.T) {
		c := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true})
		for want, args := range map[string]map[string]any{
			"agent is needed":            lesson("Ask Zoë before money is spent."),
			"unknown agent \"claude\"":   lesson("Ask Zoë before money is spent.", "agent", "claude"),
			"unknown category \"diary\"": lesson("Ask Zoë before money is spent.", "agent", "coordinator", "category", "diary"),
			"the text says nothing":      lesson(" \x1b[31m ", "agent", "coordinator"),
		} {
			if text, failed := call(t, c, "memory_store", args); !failed || !strings.Contains(text, want) || !strings.Contains(text, "\nhint: ") {
				t.Errorf("%v: %q", args, text)
			}
		}
		args := lesson("Ask Zoë before money is spent.", "agent", "coordinator")
		for _, much := range []float64{1.05, -0.1} {
			args["importance"] = much
			if text, failed := call(t, c, "memory_store", args); !failed || !strings.Contains(text, "importance must be between 0 and 1, not") {
				t.Errorf("an importance of %v: %q", much, text)
			}
		}
		if text, failed := call(t, c, "memory_store", lesson(strings.Repeat("word ", 500), "agent", "coordinator")); !failed {
			t.Errorf("2,500 characters: %q", text)
		}
	})
	t.Run("what a server has returned is not stored", func(t *testing.T) {
		c := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true, Agent: "coordinator"})
		list, _ := call(t, c, "sessions", nil)
		tool, args, _ := printedCall(t, list)
		whole, _ := call(t, c, tool, args)
		for _, shown := range []string{whole, quotedLines(whole)} {
			text, failed := call(t, c, "memory_store", lesson(shown[:min(len(shown), 1500)]))
			if !failed || !strings.Contains(text, "not stored: it repeats") {
				t.Errorf("%.80q: %q", shown, text)
			}
		}
	})
	t.Run("a server for one agent", func(t *testing.T) {
		c := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true, Agent: "librarian"})
		if text, failed := call(t, c, "memory_store", lesson("Ask Zoë before money is spent.", "agent", "coordinator")); !failed || !strings.Contains(text, "librarian") {
			t.Errorf("for another agent: %q", text)
		}
		text, failed := call(t, c, "memory_store", lesson("Thermal paper turns yellow in the sun; label books with laser prints.", "category", "fact"))
		if failed || !strings.Contains(text, "agent librarian") {
			t.Fatalf("%q", text)
		}
		for tool, args := range map[string]map[string]any{"memory_recall": {"query": "thermal paper labels yellow sun"}, "memory_facts": {}} {
			if text, _ := call(t, c, tool, args); !strings.Contains(text, "laser prints") || !strings.Contains(text, "stored by agent librarian at ") {
				t.Errorf("%s: %s", tool, text)
			}
		}
		other := askMCP(t, a, mcptool.MCPOptions{Agent: "coordinator"})
		if text, _ := call(t, other, "memory_recall", map[string]any{"query": "thermal paper labels yellow sun"}); strings.Contains(text, "laser") {
			t.Errorf("another agent sees it: %s", text)
		}
	})
	t.Run("the session that asks", func(t *testing.T) {
		logs, _ := filepath.Glob(filepath.Join(a.Getenv("HOME"), ".openclaw", "agents", "librarian", "sessions", "*.jsonl"))
		log, err := os.ReadFile(logs[0])
		if err != nil {
			t.Fatal(err)
		}
		asks := regexp.MustCompile(`.*"role":"user".*\n`).FindAll(log, -1)
		if err := os.WriteFile(logs[0], append(log, asks[len(asks)-1]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(logs[0], time.Now(), time.Now()); err != nil {
			t.Fatal(err)
		}
		stored := lesson("Renewals by mail need a phone call afterwards, or nobody reads them.")
		if text, _ := call(t, askMCP(t, a, mcptool.MCPOptions{AllowWrite: true, Remote: true}), "memory_store", stored); !strings.Contains(text, "agent is needed") {
			t.Errorf("over HTTP: %q", text)
		}
		session := strings.TrimSuffix(filepath.Base(logs[0]), ".jsonl")
		if text, failed := call(t, askMCP(t, a, mcptool.MCPOptions{AllowWrite: true}), "memory_store", stored); failed || !strings.Contains(text, "agent librarian, session "+session) {
			t.Errorf("%q", text)
		}
	})
}

// memory_facts answers a question with the facts that fit it, found ones and those that
// an agent stored, of the server's agent only.
func TestMCPFactsAnswer(t *testing.T) {
	a := mcpHome(t)
	root := newRootCommand(a)
	log := filepath.Join(t.TempDir(), "session.jsonl")
	lines := `{"type":"session","version":3,"id":"5f1c0b7e-0000-4000-8000-000000000001","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/x"}` + "\n"
	for i, text := range []string{"My name is Ebba Strand.", "Hello.", "Remember that the flour supplier delivers on Tuesdays.", "I will."} {
		role := []string{"user", "assistant"}[i%2]
		lines += fmt.Sprintf(`{"type":"message","id":"m%d","timestamp":"2026-05-01T10:0%d:00.000Z","message":{"role":%q,"content":[{"type":"text","text":%q}]}}`+"\n", i, i, role, text)
	}
	if err := os.WriteFile(log, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	root.SetArgs([]string{"extract-facts", "--file", log, "--agent", "openclaw/coordinator"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true, Agent: "coordinator"})
	if text, failed := call(t, c, "memory_store", map[string]any{"text": "Thermal paper turns yellow in the sun.", "category": "fact"}); failed {
		t.Fatal(text)
	}
	if text, _ := call(t, c, "memory_facts", nil); strings.Count(text, "   | ") != 3 {
		t.Errorf("all facts: %s", text)
	}
	for query, want := range map[string]string{"when does the flour supplier deliver": "flour supplier", "thermal paper in the sun": "Thermal", "what is the name of the user": "Ebba"} {
		text, failed := call(t, c, "memory_facts", map[string]any{"query": query})
		if _, first, _ := strings.Cut(text, "   | "); failed || !strings.Contains(strings.SplitN(first, "\n", 2)[0], want) {
			t.Errorf("%q: failed %v, %s", query, failed, text)
		}
	}
	if text, failed := call(t, c, "memory_facts", map[string]any{"query": "quartz xylophone"}); failed || !strings.Contains(text, "no fact answers that") {
		t.Errorf("nonsense: failed %v, %s", failed, text)
	}
	other := askMCP(t, a, mcptool.MCPOptions{Agent: "librarian"})
	if text, _ := call(t, other, "memory_facts", map[string]any{"query": "when does the flour supplier deliver"}); strings.Contains(text, "Tuesdays") {
		t.Errorf("another agent sees it: %s", text)
	}
}

// quotedLines are what stands behind the bars of an answer.
func quotedLines(answer string) string {
	var b strings.Builder
	for line := range strings.Lines(answer) {
		if text, is := strings.CutPrefix(line, "   | "); is {
			b.WriteString(text)
		}
	}
	return b.String()
}
