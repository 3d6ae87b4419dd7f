package cmd

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/pkg/session"
)

// What was done is found over MCP by file, command, error and question, fenced
// and bounded; of another agent a server for one agent shows nothing.
func TestMCPWork(t *testing.T) {
	a := mcpHome(t)
	c := askMCP(t, a, mcptool.MCPOptions{})
	t.Run("found", func(t *testing.T) {
		for want, args := range map[string]map[string]any{
			"/internal/label/layout.go":              {"file": "label layout"},
			"tools/deploy.sh pi main":                {"command": "deploy.sh"},
			"failed: Connection refused\n   then:\n": {"error": "connection refused"},
			"go run ./cmd/label":                     {"query": "label copies", "limit": 10},
		} {
			text, failed := call(t, c, "work_history", args)
			if failed || len(text) > recall.RecallBytes || !strings.HasPrefix(text, session.RecallBegin) || !strings.HasSuffix(text, session.RecallEnd) || !strings.Contains(text, want) {
				t.Errorf("%v: failed %v, %d bytes: %s", args, failed, len(text), text)
			}
		}
	})
	t.Run("a hit is read", func(t *testing.T) {
		text, _ := call(t, c, "work_history", map[string]any{"file": "layout.go"})
		tool, args, _ := printedCall(t, text)
		whole, failed := call(t, c, tool, args)
		if failed || !strings.Contains(whole, "layout.go") {
			t.Errorf("memory_read: %s", whole)
		}
	})
	t.Run("more than fits is bounded", func(t *testing.T) {
		text, failed := call(t, c, "work_history", map[string]any{"command": "ssh", "limit": 10})
		if failed || len(text) > recall.RecallBytes || !strings.HasSuffix(text, session.RecallEnd) || strings.Count(text, "\n   | ") < 5 {
			t.Errorf("failed %v, %d bytes: %s", failed, len(text), text)
		}
	})
	t.Run("nothing fits", func(t *testing.T) {
		for _, args := range []map[string]any{{"file": "billing.go"}, {"command": "zebra"}, {"error": "quantum unicorn"}, {"query": "zebra quantum"}} {
			if text, failed := call(t, c, "work_history", args); failed || text != "nothing found that fits" {
				t.Errorf("%v: %v, %q", args, failed, text)
			}
		}
	})
	t.Run("errors say what to do", func(t *testing.T) {
		for want, args := range map[string]map[string]any{
			"give one of file":         {},
			"command, error and":       {"file": "a", "command": "b"},
			"file, command, error":     {"file": "a", "query": "b"},
			"error and query":          {"command": " \t"},
			"\nhint: ":                 {"file": "a", "since": "soon"},
			"unknown agent \"nobody\"": {"file": "a", "agent": "nobody"},
			"is longer than":           {"error": strings.Repeat("x", 100<<10)},
			"path is not an argument":  {"path": "a"},
		} {
			if text, failed := call(t, c, "work_history", args); !failed || !strings.Contains(text, want) || len(text) > 2*recall.MostComplaint {
				t.Errorf("%.80v: %v, %q", args, failed, text)
			}
		}
	})
	t.Run("a server for one agent", func(t *testing.T) {
		root := newRootCommand(a.printingTo(io.Discard))
		root.SetArgs([]string{"archive", "--agent", "librarian", "--remember"})
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		confined := askMCP(t, a, mcptool.MCPOptions{Agent: "librarian"})
		for _, args := range []map[string]any{{"file": "layout.go"}, {"command": "deploy.sh"}, {"error": "connection refused"}, {"query": "label copies"}} {
			if text, failed := call(t, confined, "work_history", args); failed || text != "nothing found that fits" {
				t.Errorf("%v shows another agent: %s", args, text)
			}
			args["agent"] = "coordinator"
			if text, failed := call(t, confined, "work_history", args); !failed || !strings.Contains(text, "librarian") || strings.Contains(text, "toolshed") {
				t.Errorf("%v of another agent: %s", args, text)
			}
		}
	})
}

// What was done is asked over HTTP by file, command and error.
func TestServeWork(t *testing.T) {
	s := newServing(t)
	for question, want := range map[string]string{
		"file=label+layout": "/internal/label/layout.go", "command=deploy.sh": "tools/deploy.sh pi main", "error=" + url.QueryEscape("Connection REFUSED"): "nc -vz",
		"kind=work&q=label+copies": "go run ./cmd/label",
	} {
		var doc recall.Document
		if err := json.Unmarshal(s.get("/api/v1/recall?"+question), &doc); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, h := range doc.Work {
			found = found || strings.Contains(h.Text, want)
			if (h.After != nil) != strings.HasPrefix(question, "error=") {
				t.Errorf("%s: what followed: %+v", question, h.After)
			}
		}
		if !found || len(doc.Hits) != 0 {
			t.Errorf("%s: %+v", question, doc)
		}
	}
	var doc recall.Document
	if err := json.Unmarshal(s.get("/api/v1/recall?file=billing.go"), &doc); err != nil || len(doc.Work) != 0 {
		t.Errorf("nothing fits: %v %+v", err, doc)
	}
	for _, question := range []string{"file=a&command=b", "file=a&q=b", "kind=work", "file=a&neighbors=1"} {
		if w := s.ask(http.MethodGet, "/api/v1/recall?"+question, "", nil); w.Code < 400 || w.Code >= 500 {
			t.Errorf("%s: %d %s", question, w.Code, w.Body)
		}
	}
}
