package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/pkg/archive"
)

// Whatever call an answer prints can be made as it is printed, also those that its own
// answer prints.
func TestMCPCallsAsPrinted(t *testing.T) {
	a := twoOfOneName(t)
	entries, err := selection.Archived(t.Context(), a.Run, archive.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	c := askMCP(t, a, mcptool.MCPOptions{})
	records := append(recordsOf(t, a, "pi"), recordsOf(t, a, "claude")...)
	called := map[string]int{} // by tool
	done := map[string]bool{}
	var follow func(text string)
	follow = func(text string) {
		for _, found := range printedCalls().FindAllStringSubmatch(text, -1) {
			if done[found[0]] {
				continue
			}
			done[found[0]] = true
			called[found[1]]++
			var args map[string]any
			if err := json.Unmarshal([]byte(found[2]), &args); err != nil {
				t.Errorf("%s: %v", found[0], err)
				continue
			}
			answer, failed := callAny(t, c, found[1], args)
			if failed {
				t.Errorf("%s fails: %s", found[0], answer)
			}
			follow(answer)
		}
	}
	for _, tool := range toolsOf(t, c) {
		for _, entry := range entries {
			for _, args := range questionsTo(t, tool, entry, records) {
				answer, _ := callAny(t, c, tool, args)
				follow(answer)
			}
		}
	}
	answer, _ := call(t, c, "sessions", map[string]any{"limit": 1})
	follow(answer)
	if called["memory_read"] < 5 || called["sessions"] == 0 {
		t.Errorf("calls that were printed: %v", called)
	}
}

// Sessions come in the order in which they were used, whenever they were archived, and
// pages have each of them once.
func TestMCPSessionsByUse(t *testing.T) {
	a := mcpHome(t)
	dir := filepath.Join(a.Getenv("HOME"), ".claude", "projects", "-w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const line = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"which port?"},"uuid":"u","timestamp":"2026-05-18T09:00:00.000Z","sessionId":"%08d-1111-4222-8333-444444444444","cwd":"/w","version":"2.1.330"}` + "\n"
	for i := range 7 {
		path := filepath.Join(dir, fmt.Sprintf("%08d-1111-4222-8333-444444444444.jsonl", i))
		used := time.Now().Add(-time.Duration(2+i) * 24 * time.Hour)
		if err := os.WriteFile(path, fmt.Appendf(nil, line, i), 0o600); err != nil || os.Chtimes(path, used, used) != nil {
			t.Fatal(err)
		}
	}
	root := newRootCommand(a.printingTo(a.Out))
	root.SetArgs([]string{"archive", "--all"})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // the newest three are gone: archived only, and long ago
		if err := os.Remove(filepath.Join(dir, fmt.Sprintf("%08d-1111-4222-8333-444444444444.jsonl", 2*i))); err != nil {
			t.Fatal(err)
		}
	}
	c := askMCP(t, a, mcptool.MCPOptions{})
	whole, _ := call(t, c, "sessions", map[string]any{"agent": "claude/w"})
	var order []string
	for i := range 7 {
		order = append(order, fmt.Sprintf("session %08d", i))
	}
	at := -1
	for _, want := range order {
		i := strings.Index(whole, want)
		if i <= at {
			t.Errorf("%s is not in its place: %s", want, whole)
		}
		at = i
	}
	paged, args := "", map[string]any{"agent": "claude/w", "limit": 3}
	for pages := 0; args != nil && pages < 9; pages++ {
		text, failed := call(t, c, "sessions", args)
		page, more, found := strings.Cut(text, "\n3 more: ")
		if !found {
			page, more, found = strings.Cut(text, "\n1 more: ")
		}
		if !found {
			page, more, found = strings.Cut(text, "\n4 more: ")
		}
		if paged, args = paged+page, nil; found {
			_, args, _ = printedCall(t, more)
		}
		if failed {
			t.Fatal(text)
		}
	}
	if paged != whole {
		t.Errorf("pages:\n%s\nwhole:\n%s", paged, whole)
	}
	if text, _ := call(t, c, "sessions", map[string]any{"agent": "claude/w", "offset": 7}); text != "no more sessions: there are 7" {
		t.Error(text)
	}
}

// Lines may be said as people do, and arguments that no tool takes are answered with
// those that it takes, in plain words.
func TestMCPArguments(t *testing.T) {
	a := mcpHome(t)
	c := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true})
	entries, err := selection.Archived(t.Context(), a.Run, archive.Filter{})
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	id := entries[0].ID
	want, failed := call(t, c, "memory_read", map[string]any{"archive": id, "first_line": 4, "last_line": 9})
	if failed {
		t.Fatal(want)
	}
	for _, lines := range []string{"4-9", "4 to 9", "lines 4-9", "4–9", "4..9"} {
		if got, _ := call(t, c, "memory_read", map[string]any{"archive": id, "lines": lines}); got != want {
			t.Errorf("lines %q: %s", lines, got)
		}
	}
	for _, c2 := range []struct {
		tool string
		args map[string]any
		want []string
	}{
		{"memory_read", map[string]any{"archive": id, "lines": "some"}, []string{`lines "some" is no range`, `memory_read {"archive":"` + id + `","first_line":29,"last_line":32}`}},
		{"memory_read", map[string]any{"archive": id, "lines": "4-9", "first_line": 1}, []string{"say another"}},
		{"memory_read", map[string]any{"archive": id, "from": 4}, []string{"memory_read: from is not an argument of it", "it takes archive, first_line, hit, last_line, lines, neighbors"}},
		{"memory_read", map[string]any{"archive": id, "first_line": "4"}, []string{"first_line must be a whole number"}},
		{"memory_read", map[string]any{}, []string{`memory_read {"archive":"ID"}`}},
		{"memory_recall", map[string]any{"limit": 2}, []string{"query is missing", "it takes agent, category"}},
		{"memory_recall", map[string]any{"query": strings.Repeat("x", 2000)}, []string{"query is longer than 1000 characters"}},
		{"memory_store", map[string]any{"text": "Use port 9101.", "category": "fact", "importance": 1.5}, []string{"importance must be between 0 and 1, not 1.5"}},
		{"session_sizes", map[string]any{"over": "yes"}, []string{"over must be true or false"}},
		{"sessions", map[string]any{"offset": -1}, []string{"offset -1"}},
	} {
		text, failed := callAny(t, c, c2.tool, c2.args)
		for _, want := range c2.want {
			if !failed || !strings.Contains(text, want) || strings.Contains(text, "validating") {
				t.Errorf("%s %v: %v, %s", c2.tool, c2.args, failed, text)
			}
		}
	}
}
