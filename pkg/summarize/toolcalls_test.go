package summarize_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// TestTools goes over the names and arguments that runtimes give to their
// tools.
func TestTools(t *testing.T) {
	for _, tt := range []struct {
		tool, arguments string
		section, want   string
	}{
		{"read", `{"path":"a.go","offset":10}`, "Files read", "`a.go` (2)"},
		{"Read", `{"file_path":"/src/a.go"}`, "Files read", "`/src/a.go` (2)"},
		{"mcp__files__read_file", `{"path":"a.go"}`, "Files read", "`a.go` (2)"},
		{"str_replace_based_edit_tool", `{"command":"view","path":"a.go"}`, "Files read", "`a.go` (2)"},
		{"str_replace_based_edit_tool", `{"command":"create","path":"a.go"}`, "Files changed", "`a.go` (2)"},
		{"write", `{"content":"{\"path\":\"no.go\"} \"","path":"yes.go"}`, "Files changed", "`yes.go` new (2)"},
		{"Edit", `{"old_string":"a","file_path":"日本語.md"}`, "Files changed", "`日本語.md` (2)"},
		{"NotebookEdit", `{"notebook_path":"a.ipynb"}`, "Files changed", "`a.ipynb` (2)"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: one.go\n@@\n-a\n+b\n*** End Patch"}`, "Files changed", "`one.go` (2)"},
		{"edit", `{"edits":[{"path":"inner.go"}],"path":"outer.go"}`, "Files changed", "`outer.go` (2)"},
		{"write", `{"path":"cut.go","content":"never ends`, "Files changed", "`cut.go` new (2)"},
		{"exec", `{"command":"make all"}`, "Commands", "`make all` ok (2)"},
		{"Bash", `{"command":"make all","description":"builds"}`, "Commands", "`make all` ok (2)"},
		{"shell", `{"command":["bash","-lc","make all"]}`, "Commands", "`bash -lc make all` ok (2)"},
		{"exec_command", `{"cmd":"make all"}`, "Commands", "`make all` ok (2)"},
		{"bash", "{\"command\":\"cat <<'E'\\n`x`\\nE\"}", "Commands", "`` cat <<'E' `x` E `` ok (2)"},
	} {
		got := sum(t, summarize.Options{}, agent("", call("c", tt.tool, tt.arguments)), result("c", "fine", false))
		if diff := cmp.Diff([]string{tt.want}, section(got, tt.section)); diff != "" {
			t.Errorf("%s %s: %s", tt.tool, tt.arguments, diff)
		}
	}
}

func TestPatchOfManyFiles(t *testing.T) {
	patch := `{"patch":"*** Begin Patch\n*** Update File: one.go\n*** Add File: two.go\n*** Delete File: three.go\n*** Move to: four.go\n"}`
	got := sum(t, summarize.Options{}, agent("", call("c", "apply_patch", patch)), result("c", "fine", false))
	if diff := cmp.Diff([]string{"`four.go` (2)", "`one.go` (2)", "`three.go` (2)", "`two.go` (2)"}, section(got, "Files changed")); diff != "" {
		t.Error(diff)
	}
}

func TestFilesOfFailedCallsAreNotChanged(t *testing.T) {
	got := sum(t, summarize.Options{},
		agent("", call("a", "edit", `{"path":"a.go"}`), call("b", "read", `{"path":"b.go"}`), call("c", "read", `{"path":"c.go"}`), call("d", "write", `{"path":"c.go"}`)),
		result("a", "Could not find the exact text in a.go", true), result("b", "package b", false), result("c", "package c", false), result("d", "ok", false))
	if diff := cmp.Diff([]string{"`c.go` (2)"}, section(got, "Files changed")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"`b.go` (2)"}, section(got, "Files read")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"edit `a.go`: `Could not find the exact text in a.go` (3)"}, section(got, "Errors")); diff != "" {
		t.Error(diff)
	}
}

func TestExitCodes(t *testing.T) {
	for name, tt := range map[string]struct {
		result session.Message
		want   string
	}{
		"as a field":            {session.Message{Parts: text("boom"), HasExit: true, ExitCode: 12}, "exit 12"},
		"zero":                  {session.Message{Parts: text("fine"), HasExit: true}, "exit 0"},
		"pi writes a line":      {session.Message{Parts: text("boom\n\n\nCommand exited with code 2"), IsError: true}, "exit 2"},
		"openclaw too":          {session.Message{Parts: text("boom\n\n(Command exited with code 3)")}, "exit 3"},
		"claude code":           {session.Message{Parts: text("Exit code 4"), IsError: true}, "exit 4"},
		"only failed":           {session.Message{Parts: text("boom"), IsError: true}, "failed"},
		"only worked":           {session.Message{Parts: text("the exit code 9 is in the middle of a sentence here")}, "ok"},
		"no text":               {session.Message{}, "ok"},
		"a number that is none": {session.Message{Parts: text("Command exited with code many")}, "ok"},
	} {
		tt.result.Role, tt.result.CallID = session.RoleToolResult, []byte("c")
		got := sum(t, summarize.Options{}, agent("", call("c", "bash", `{"command":"make x"}`)), &tt.result)
		if diff := cmp.Diff([]string{"`make x` " + tt.want + " (2)"}, section(got, "Commands")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if failed := len(section(got, "Errors")) > 0; failed != (tt.want != "ok" && tt.want != "exit 0") {
			t.Errorf("%s: told as an error is %v", name, failed)
		}
	}
}

func TestErrorLinesAreVerbatim(t *testing.T) {
	long := strings.Repeat("compiling\n", 3000)
	got := sum(t, summarize.Options{}, agent("", call("c", "bash", `{"command":"make x"}`)),
		result("c", "main.go:3: undefined: foo\n"+long+"make: *** [x] Error 2\n"+strings.Repeat("y", 500)+" failed\n\n\nCommand exited with code 2", true))
	want := "exit 2 from `make x`: `main.go:3: undefined: foo` `make: *** [x] Error 2` `" + strings.Repeat("y", 159) + "…` (3)"
	if diff := cmp.Diff([]string{want}, section(got, "Errors")); diff != "" {
		t.Error(diff)
	}
}

func TestModelErrors(t *testing.T) {
	broken := &session.Message{Role: session.RoleAssistant, IsError: true, ErrorText: []byte("529 overloaded_error")}
	got := sum(t, summarize.Options{}, user("Please go on."), broken)
	if diff := cmp.Diff([]string{"model call: `529 overloaded_error` (3)"}, section(got, "Errors")); diff != "" {
		t.Error(diff)
	}
}
