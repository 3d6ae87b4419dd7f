package smallpackages_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize/state"
	"github.com/sessctl/sessctl/pkg/work"
)

// told is what a reader makes of messages.
func told(t testing.TB, messages ...*session.Message) ([]*work.Action, work.Counts) {
	t.Helper()
	var all []*work.Action
	r := work.NewReader(func(a *work.Action) error {
		all = append(all, a)
		return nil
	})
	for _, m := range messages {
		if err := r.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	counts, err := r.Close()
	if err != nil {
		t.Fatal(err)
	}
	return all, counts
}

func asked(id, tool, arguments string) *session.Message {
	return &session.Message{Role: session.RoleAssistant, Parts: []session.Part{{Kind: session.PartToolCall, CallID: []byte(id), Name: []byte(tool), Text: []byte(arguments)}}}
}

func answered(id, text string) *session.Message {
	return &session.Message{Role: session.RoleToolResult, CallID: []byte(id), Parts: []session.Part{{Kind: session.PartText, Text: []byte(text)}}}
}

func TestWorkShells(t *testing.T) {
	for _, c := range []struct{ arguments, want string }{
		{`{"command":"go test ./..."}`, "go test ./..."},
		{`{"command":"cd web && npm test"}`, "cd web && npm test"},
		{`{"command":"  ls\n"}`, "ls"},
		{`{"command":["ls"]}`, "ls"},
		{`{"command":["git","commit","-m","two words"]}`, "git commit -m 'two words'"},
		{`{"command":["echo","it's"]}`, `echo 'it'\''s'`},
		{`{"command":["printf",""]}`, "printf ''"},
		{`{"command":["bash","-lc","go build ./... && ls"]}`, "go build ./... && ls"},
		{`{"command":["/bin/zsh","-l","-c","make"]}`, "make"},
		{`{"command":["bash","-euo","pipefail","-c","make"]}`, "make"},
		{`{"command":["bash","--norc","-c","make"]}`, "make"},
		{`{"command":["/usr/bin/env","bash","-lc","make"]}`, "make"},
		{`{"command":["bash","-lc","bash -c 'make all'"]}`, "make all"},
		{`{"command":["powershell.exe","-NoProfile","-Command","Get-ChildItem","C:\\"]}`, `Get-ChildItem C:\`},
		{`{"command":["cmd.exe","/d","/c","dir"]}`, "dir"},
		{`{"command":["bash","deploy.sh","-c","x"]}`, "bash deploy.sh -c x"},
		{`{"command":["bash","-c","echo $0","name"]}`, "bash -c 'echo $0' name"},
		{`{"command":"bash -lc \"go test ./...\""}`, "go test ./..."},
		{`{"command":"bash -lc 'echo \"hi\"'"}`, `echo "hi"`},
		{`{"command":"sh -c \"echo \\\"a b\\\" \\\\ x\""}`, `echo "a b" \ x`},
		{`{"command":"bash -c 'make' && ls"}`, "bash -c 'make' && ls"},
		{`{"command":"bash -c \"open"}`, `bash -c "open`},
		{`{"command":"env A=1 make"}`, "env A=1 make"},
		{`{"command":"bash"}`, "bash"},
		{`{"cmd":"ls"}`, "ls"},
		{`{"commands":["go vet ./...","go test ./..."]}`, "go vet ./...\ngo test ./..."},
		{`{"input":"ls -la"}`, "ls -la"},
		{`"{\"command\":\"ls\"}"`, "ls"},
		{`{"command":"echo \u001b[31mred\u001b[0m \u202e"}`, "echo red"},
	} {
		all, counts := told(t, asked("1", "shell", c.arguments))
		if len(all) != 1 || all[0].Kind != work.KindCommand || all[0].Command != c.want || counts.Unreadable != 0 {
			t.Errorf("%s: %v %+v, want %q", c.arguments, lines(all), counts, c.want)
		}
	}
}

func TestWorkPatchesInShells(t *testing.T) {
	const patch = "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** End Patch"
	for script, want := range map[string]string{
		"apply_patch <<'EOF'\n" + patch + "\nEOF":                   `1 edit(shell) path "a.go"`,
		"cd pkg && apply_patch <<EOF\n" + patch + "\nEOF\n":         `1 edit(shell) in "pkg" path "a.go"`,
		"cd 'my pkg' && applypatch '" + patch + "'":                 `1 edit(shell) in "my pkg" path "a.go"`,
		"apply_patch <<'EOF'\n" + patch + "\nEOF\ngo test ./... -v": `1 edit(shell) path "a.go" + 1 command(shell)`,
		"cat <<'EOF'\n" + patch + "\nEOF":                           `1 command(shell)`,
		"cd /x && echo '" + patch + "'":                             `1 command(shell)`,
	} {
		arguments, _ := json.Marshal(map[string]any{"command": []string{"bash", "-lc", script}})
		call := asked("1", "shell", string(arguments))
		call.Line = 1
		all, _ := told(t, call)
		for _, a := range all {
			a.Command = ""
		}
		if got := strings.Join(lines(all), " + "); got != want {
			t.Errorf("%q: %s, want %s", script, got, want)
		}
	}
}

// TestWorkEditsAreInSummaries: what is an edit for the index of work is a changed file in
// a summary, and nothing else is.
func TestWorkEditsAreInSummaries(t *testing.T) {
	const patch = "*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** Delete File: old.go\n*** End Patch"
	shell := func(words ...string) string {
		arguments, _ := json.Marshal(map[string]any{"command": words, "workdir": "/w"})
		return string(arguments)
	}
	text, _ := json.Marshal(patch)
	for _, c := range []struct{ tool, arguments, want string }{
		{"shell", shell("apply_patch", patch), "a.go, old.go removed"},
		{"shell", shell("bash", "-lc", "apply_patch <<'EOF'\n"+patch+"\nEOF"), "a.go, old.go removed"},
		{"shell", shell("bash", "-lc", "cd pkg && apply_patch <<'EOF'\n"+patch+"\nEOF"), "pkg/a.go, pkg/old.go removed"},
		{"shell", shell("bash", "-lc", "cd /else && apply_patch '"+patch+"'"), "/else/a.go, /else/old.go removed"},
		{"shell", shell("bash", "-lc", "cat <<'EOF'\n"+patch+"\nEOF"), ""},
		{"exec_command", `{"cmd":"ls"}`, ""},
		{"apply_patch", string(text), "a.go, old.go removed"},
		{"apply_patch", `{"input":` + string(text) + `}`, "a.go, old.go removed"},
		{"Edit", `{"file_path":"a.go","old_string":"*** Begin Patch\n*** Update File: b.go","new_string":"y"}`, "a.go"},
		{"Write", `{"content":"x","file_path":"/w/a.go"}`, "/w/a.go"},
		{"str_replace_editor", `{"path":"a.go","command":"str_replace"}`, "a.go"},
		{"str_replace_editor", `{"path":"a.go","command":"view"}`, ""},
		{"mcp__files__move_file", `{"source":"a.go","destination":"b.go"}`, "a.go removed, b.go"},
		{"delete_file", `{"target_file":"a.go"}`, "a.go removed"},
	} {
		var r state.Reader
		call := asked("1", c.tool, c.arguments)
		for _, m := range []*session.Message{call, answered("1", "Done.")} {
			r.Add(m)
		}
		var got []string
		edited := 0
		for _, f := range r.State().Files {
			if f.Edits > 0 {
				edited++
				got = append(got, f.Path+map[bool]string{true: " removed"}[f.Removed])
			}
		}
		slices.Sort(got)
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.arguments, got, c.want)
		}
		all, _ := told(t, call)
		for _, a := range all {
			if a.Kind == work.KindEdit || a.Kind == work.KindWrite || a.Kind == work.KindDelete {
				edited--
			}
		}
		if edited != 0 {
			t.Errorf("%s %s: the summary and %v differ", c.tool, c.arguments, lines(all))
		}
	}
}

func lines(all []*work.Action) (out []string) {
	for _, a := range all {
		out = append(out, line(a))
	}
	return out
}

// TestWorkOutcomes: how runtimes say that a command ended, and what is told of it.
func TestWorkOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		change           func(*session.Message)
	}{
		{name: "a field", text: "x", want: "exit 0", change: exits(0)},
		{name: "a field that failed", text: "oh no\n", want: `exit 3 failed ["oh no"]`, change: exits(3)},
		{name: "claude", text: "Exit code 1\nls: x: No such file or directory", want: `exit 1 failed ["ls: x: No such file or directory"]`, change: fails},
		{name: "pi", text: "a\nb.go:1: undefined: x\n\n\nCommand exited with code 2", want: `exit 2 failed ["b.go:1: undefined: x"]`, change: fails},
		{name: "pi, of itself", text: "Command exited with code 2", want: ""},
		{name: "openclaw", text: "no\n\n(Command exited with code 127)", want: `exit 127 failed ["no"]`},
		{name: "openclaw's process", text: "no\n\nProcess exited with code 1.", want: `exit 1 failed ["no"]`, change: fails},
		{name: "a signal", text: "no\n\nCommand aborted by signal SIGTERM", want: `failed ["no" "Command aborted by signal SIGTERM"]`, change: fails},
		{name: "details", text: "(no output)", want: "exit 1 failed []", change: details(`{"status":"completed","exitCode":1}`)},
		{name: "a failed status", text: "Approval denied", want: `failed ["Approval denied"]`, change: details(`{"status":"failed"}`)},
		{name: "no exit yet", text: "started", want: "", change: details(`{"status":"running","exitCode":null}`)},
		{name: "codex refuses", text: "exec_command failed for `x`: CreateProcess", want: "failed [\"exec_command failed for `x`: CreateProcess\"]"},
		{name: "nothing said", text: "", want: "exit 1 failed []", change: exits(1)},
		{
			name: "go", text: "=== RUN TestA\n--- FAIL: TestA (0.00s)\n    a_test.go:3: got 1\nok  \tx\t0 errors\nFAIL\nFAIL\tx\t0.1s\npanic: boom\n\ngoroutine 1 [running]:\n",
			want: `exit 1 failed ["--- FAIL: TestA (0.00s)" "a_test.go:3: got 1" "FAIL\tx\t0.1s" "panic: boom"]`, change: exits(1),
		},
		{
			name: "python", text: "loading\nTraceback (most recent call last):\n  File \"a.py\", line 1\n    f()\nKeyError: 'sku'\n",
			want: `exit 1 failed ["Traceback (most recent call last):" "KeyError: 'sku'"]`, change: exits(1),
		},
		{name: "rust", text: "error[E0308]: mismatched\n --> a.rs:4:5\n", want: `exit 101 failed ["error[E0308]: mismatched" "--> a.rs:4:5"]`, change: exits(101)},
		{name: "tsc", text: "> tsc\na.ts(2,1): error TS2739: no\nFound 0 errors", want: `exit 2 failed ["a.ts(2,1): error TS2739: no"]`, change: exits(2)},
		{name: "bash", text: "bash: line 1: frob: command not found", want: `exit 127 failed ["bash: line 1: frob: command not found"]`, change: exits(127)},
		{name: "make", text: "cc -c x.c\nmake: *** [x.o] Error 1", want: `exit 2 failed ["make: *** [x.o] Error 1"]`, change: exits(2)},
		{name: "words only", text: "step one\nthe disk is missing\nstep two", want: `exit 1 failed ["the disk is missing"]`, change: exits(1)},
		{name: "colours", text: "\x1b[31mError: red\x1b[0m\r\n", want: `exit 1 failed ["Error: red"]`, change: exits(1)},
		{name: "again and again", text: strings.Repeat("Error: one\n", 9), want: `exit 1 failed ["Error: one"]`, change: exits(1)},
		{name: "the rest of a long output", text: "quiet", want: `exit 1 failed ["Error: in the rest"]`, change: func(m *session.Message) {
			exits(1)(m)
			m.Parts = append(m.Parts, session.Part{Kind: session.PartUnsent, Text: []byte("x\nError: in the rest")})
		}},
		{name: "at the end of a long output", text: strings.Repeat("all is well\n", 9000) + "Error: at last", want: `exit 1 failed ["Error: at last"]`, change: exits(1)},
	} {
		m := answered("1", c.text)
		if c.change != nil {
			c.change(m)
		}
		all, _ := told(t, asked("1", "bash", `{"command":"x"}`), m)
		if got := strings.TrimPrefix(line(all[0]), `0-0 command(bash) $ "x"`); strings.TrimSpace(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func exits(code int) func(*session.Message) {
	return func(m *session.Message) { m.ExitCode, m.HasExit = code, true }
}

func fails(m *session.Message) { m.IsError = true }

func details(raw string) func(*session.Message) {
	return func(m *session.Message) { withDetails(m, raw) }
}

// TestWorkFilesThatEndLikeCommands: what stands in a file is no exit status.
func TestWorkFilesThatEndLikeCommands(t *testing.T) {
	all, _ := told(t, asked("1", "read", `{"path":"build.log"}`), answered("1", "no\n\n(Command exited with code 1)"))
	if all[0].Failed || all[0].HasExit {
		t.Error(line(all[0]))
	}
}

// TestWorkArgumentsThatAreNotUnderstood are counted and never dropped in silence.
func TestWorkArgumentsThatAreNotUnderstood(t *testing.T) {
	deep := strings.Repeat(`{"command":`, 20000)
	for _, c := range []struct{ tool, arguments string }{
		{"bash", ""}, {"bash", "null"}, {"bash", "{}"}, {"bash", `{"command":7}`}, {"bash", `{"command":{"a":"b"}}`}, {"bash", `{"command":[]}`},
		{"bash", `{"command":"ls`}, {"bash", `"{\"command\":\"ls"`}, {"bash", `[1]`}, {"bash", deep}, {"bash", `{"command":" \u200b "}`},
		{"read", `{"path":""}`}, {"read", `{"path":["a"]}`}, {"read", `{"offset":3}`}, {"write", `{"content":"x"}`}, {"edit", `{"path":null}`},
		{"apply_patch", `{"input":"*** Begin Patch\n*** End Patch"}`}, {"apply_patch", `"no patch"`}, {"grep", `{"path":"x"}`}, {"webfetch", `{"url":1}`},
		{"str_replace_editor", `{"command":"dance","path":"x"}`}, {"move_file", `{"source":"a"}`},
	} {
		all, counts := told(t, asked("1", c.tool, c.arguments), answered("1", "x"))
		if len(all) != 0 || counts != (work.Counts{Calls: 1, Unreadable: 1}) {
			t.Errorf("%s %.40s: %v %+v", c.tool, c.arguments, lines(all), counts)
		}
	}
}

func TestWorkOtherTools(t *testing.T) {
	for _, c := range []struct{ tool, arguments, want string }{
		{"str_replace_based_edit_tool", `{"command":"view","path":"a","view_range":[3,-1]}`, `read(str_replace_based_edit_tool) path "a" lines 3-0`},
		{"str_replace_editor", `{"command":"create","path":"a","file_text":"x"}`, `write(str_replace_editor) path "a"`},
		{"str_replace_editor", `{"command":"insert","path":"a"}`, `edit(str_replace_editor) path "a"`},
		{"mcp__fs__read_multiple_files", `{"paths":["a","b"]}`, `read(mcp__fs__read_multiple_files) path "a", read(mcp__fs__read_multiple_files) path "b"`},
		{"mcp__fs__move_file", `{"source":"a","destination":"b"}`, `delete(mcp__fs__move_file) path "a", write(mcp__fs__move_file) path "b"`},
		{"mcp__fs__search_files", `{"path":"/w","pattern":"x"}`, `search(mcp__fs__search_files) path "/w" query "x"`},
		{"mcp__fs__directory_tree", `{"path":"/w"}`, `search(mcp__fs__directory_tree) path "/w"`},
		{"mcp__fs__edit_file", `{"path":"a","dryRun":true}`, ""},
		{"mcp_my_files_write_file", `{"path":"a"}`, `write(mcp_my_files_write_file) path "a"`},
		{"files__read_file", `{"path":"a"}`, `read(files__read_file) path "a"`},
		{"mcp__mail__read", `{"id":3}`, ""},
		{"read_file", `{"file_path":"a","offset":9}`, `read(read_file) path "a" lines 10-0`},
		{"read", `{"path":"a","offset":"9","limit":2.0}`, `read(read) path "a" lines 9-10`},
		{"read", `{"path":"a","offset":-9,"limit":99999999999999}`, `read(read) path "a"`},
		{"web_fetch", `{"prompt":"nothing here"}`, "?"},
		{"frobnicate", `{"command":"x"}`, ""},
		{"", `{"command":"x"}`, ""},
	} {
		all, counts := told(t, asked("1", c.tool, c.arguments))
		var got []string
		for _, l := range lines(all) {
			got = append(got, strings.TrimPrefix(l, "0 "))
		}
		want := work.Counts{Calls: 1, Actions: len(all), Unanswered: 1}
		switch c.want {
		case "":
			want.Others = 1
		case "?":
			want.Unreadable, c.want = 1, ""
		}
		if strings.Join(got, ", ") != c.want || counts != want {
			t.Errorf("%s %s: %q %+v, want %q", c.tool, c.arguments, got, counts, c.want)
		}
	}
}

// TestWorkPairs: results find their calls, whatever their order and their ids.
func TestWorkPairs(t *testing.T) {
	call := func(id, command string) *session.Message { return asked(id, "bash", `{"command":"`+command+`"}`) }
	for name, c := range map[string]struct {
		messages []*session.Message
		want     string
		counts   work.Counts
	}{
		"in another order": {
			[]*session.Message{call("1", "a"), call("2", "b"), answered("2", ""), answered("1", "")},
			"b! a!", work.Counts{Calls: 2, Actions: 2},
		},
		"ids that repeat": {
			[]*session.Message{call("1", "a"), call("1", "b"), answered("1", ""), answered("1", ""), answered("1", "")},
			"b! a!", work.Counts{Calls: 2, Actions: 2, Orphans: 1},
		},
		"without ids": {
			[]*session.Message{call("", "a"), call("", "b"), answered("", ""), answered("9", "")},
			"a! b", work.Counts{Calls: 2, Actions: 2, Unanswered: 1, Orphans: 1},
		},
		"what the screen showed": {
			[]*session.Message{call("1", "a"), answered("1", ""), {Role: session.RoleToolResult, CallID: []byte("1"), OutOfContext: true}},
			"a!", work.Counts{Calls: 1, Actions: 1},
		},
	} {
		all, counts := told(t, c.messages...)
		var got []string
		for _, a := range all {
			text := a.Command
			if a.Answered {
				text += "!"
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want || counts != c.counts {
			t.Errorf("%s: %q %+v, want %q %+v", name, got, counts, c.want, c.counts)
		}
	}
}

// TestWorkBackground: a command that goes on in the background ends with the call
// that tells so.
func TestWorkBackground(t *testing.T) {
	const running = `{"status":"running","sessionId":"calm-fox"}`
	poll := asked("2", "process", `{"action":"poll","sessionId":"calm-fox"}`)
	for _, c := range []struct {
		name     string
		messages []*session.Message
		want     string
	}{
		{"claude", []*session.Message{
			withDetails(answered("1", "Command running in background with ID: bash_1"), `{"stdout":"","backgroundTaskId":"bash_1"}`),
			asked("2", "BashOutput", `{"bash_id":"bash_1"}`), withDetails(answered("2", "<status>running</status>"), `{"status":"running","exitCode":null}`),
			asked("3", "BashOutput", `{"bash_id":"bash_1"}`), withDetails(answered("3", "<status>failed</status>\nError: port in use"), `{"status":"failed","exitCode":1}`),
			asked("4", "BashOutput", `{"bash_id":"bash_1"}`), answered("4", "<status>completed</status>"),
		}, `exit 1 failed ["Error: port in use"]`},
		{"claude, by its text", []*session.Message{
			answered("1", "Command running in background with ID: b3f. Output is being written to: /tmp/x"),
			asked("2", "TaskOutput", `{"task_id":"b3f"}`), answered("2", "<status>completed</status>\n<exit_code>0</exit_code>"),
		}, "exit 0"},
		{"openclaw", []*session.Message{
			withDetails(answered("1", "Command still running (session calm-fox, pid 7)."), running), poll,
			withDetails(answered("2", "no such pod\n\nProcess exited with code 3."), `{"status":"failed","exitCode":3,"sessionId":"calm-fox"}`),
		}, `exit 3 failed ["no such pod"]`},
		{"openclaw, without details", []*session.Message{
			answered("1", "Command still running (session calm-fox, pid 7)."), poll, answered("2", "ready\n\nProcess exited with code 0."),
		}, "exit 0"},
		{"codex", []*session.Message{
			answered("1", "Wall time: 10 seconds\nProcess running with session ID 5\nOutput:\n"),
			asked("2", "write_stdin", `{"session_id":5,"chars":""}`), {Role: session.RoleToolResult, CallID: []byte("2"), HasExit: true, ExitCode: 2},
		}, "exit 2 failed []"},
		{"another one ended", []*session.Message{
			withDetails(answered("1", "x"), running), asked("2", "process", `{"action":"poll","sessionId":"other"}`),
			withDetails(answered("2", ""), `{"status":"completed","exitCode":0}`),
		}, ""},
		{"nobody asked", []*session.Message{withDetails(answered("1", "x"), running)}, ""},
	} {
		all, counts := told(t, append([]*session.Message{asked("1", "bash", `{"command":"x"}`)}, c.messages...)...)
		if len(all) != 1 || counts.Actions != 1 || counts.Unanswered != 0 || counts.Orphans != 0 {
			t.Errorf("%s: %v %+v", c.name, lines(all), counts)
		} else if got := strings.TrimSpace(strings.TrimPrefix(line(all[0]), `0-0 command(bash) $ "x"`)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	var messages []*session.Message
	for i := range 200 { // they are given up as well
		messages = append(messages, asked(fmt.Sprint(i), "bash", `{"command":"x"}`), withDetails(answered(fmt.Sprint(i), ""), running))
	}
	if all, _ := told(t, messages...); len(all) != 200 {
		t.Error(len(all))
	}
}

func withDetails(m *session.Message, raw string) *session.Message {
	m.Details = []byte(raw)
	return m
}

// TestWorkBounds: whatever a log holds, what waits and what an action holds is
// bounded.
func TestWorkBounds(t *testing.T) {
	var messages []*session.Message
	for i := range 600 {
		messages = append(messages, asked(fmt.Sprint(i), "bash", `{"command":"x"}`))
	}
	r := work.NewReader(func(*work.Action) error { return nil })
	for _, m := range messages {
		if err := r.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Add(answered("3", "")); err != nil { // given up long ago
		t.Fatal(err)
	}
	if counts, _ := r.Close(); counts != (work.Counts{Calls: 600, Actions: 600, Unanswered: 600, Orphans: 1}) {
		t.Errorf("%+v", counts)
	}

	long := strings.Repeat("ü", 1<<17)
	patch := strings.Repeat("*** Delete File: "+long[:5000]+"\n", 1000)
	for _, m := range []*session.Message{
		asked("1", "bash", `{"command":"`+long+`","cwd":"`+long+`"}`), asked("1", "apply_patch", fmt.Sprintf(`{"input":%q}`, patch)),
		asked("1", long, `{}`), asked("1", "grep", `{"path":"`+long+`","pattern":"`+long+`"}`), asked("1", "fetch", `{"url":"`+long+`"}`),
	} {
		result := answered("1", long+"\n"+long+"\n"+long)
		result.IsError = true
		all, _ := told(t, m, result)
		if len(all) > 256 {
			t.Error(len(all), "actions of one call")
		}
		for _, a := range all {
			checkBounds(t, a)
		}
	}
}

// checkBounds fails if an action holds what it never may.
func checkBounds(t testing.TB, a *work.Action) {
	t.Helper()
	for _, x := range []struct {
		text string
		most int
	}{{a.Tool, 100}, {a.Command, work.MaxCommand}, {a.Path, work.MaxPath}, {a.Directory, 2*work.MaxPath + 1}, {a.Query, work.MaxQuery}, {a.URL, work.MaxURL}} {
		if utf8.RuneCountInString(x.text) > x.most || !utf8.ValidString(x.text) || strings.ContainsFunc(x.text, hidden) {
			t.Errorf("%s: %.60q, %d runes", a.Kind, x.text, utf8.RuneCountInString(x.text))
		}
	}
	if len(a.Errors) > work.MaxErrorLines || !a.Failed && len(a.Errors) > 0 {
		t.Error(a.Failed, a.Errors)
	}
	for _, l := range a.Errors {
		if utf8.RuneCountInString(l) > work.MaxErrorLine || strings.TrimSpace(l) == "" || strings.ContainsFunc(l, hidden) || strings.Contains(l, "\n") {
			t.Errorf("error line %.60q", l)
		}
	}
	if a.Span.From < 0 || a.Span.To != 0 && a.Span.To < a.Span.From {
		t.Error(a.Span)
	}
}

func hidden(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }

// TestWorkSecrets: no text of an action has one.
func TestWorkSecrets(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	result := answered("1", "Error: "+secret+" refused")
	result.IsError = true
	for _, c := range []struct{ tool, arguments string }{
		{"bash", `{"command":"curl -H 'Authorization: Bearer ` + secret + `' x"}`}, {"read", `{"path":"/x/` + secret + `"}`},
		{"grep", `{"pattern":"` + secret + `"}`}, {"fetch", `{"url":"https://x/?t=` + secret + `"}`},
		{"bash", `{"command":"` + strings.Repeat("x", work.MaxCommand-20) + ` ` + secret + `"}`},
	} {
		all, _ := told(t, asked("1", c.tool, c.arguments), result)
		text := fmt.Sprintf("%+v", *all[0])
		if strings.Contains(text, secret[:12]) || all[0].Redacted != 2 {
			t.Errorf("%s: %d %s", c.tool, all[0].Redacted, text)
		}
	}
}

// TestWorkMessagesStayAsTheyAre: they belong to others, who read them afterwards.
func TestWorkMessagesStayAsTheyAre(t *testing.T) {
	call, result := asked("1", "bash", `{"command":"echo \u001b[1mx"}`), answered("1", "\x1b[1mError: a\x00b")
	result.IsError = true
	call.Directory = []byte("/w\x1b[1m")
	before := []string{string(call.Parts[0].Text), string(call.Directory), string(result.Parts[0].Text)}
	told(t, call, result)
	if after := []string{string(call.Parts[0].Text), string(call.Directory), string(result.Parts[0].Text)}; !slices.Equal(before, after) {
		t.Error(cmp.Diff(before, after))
	}
}

// TestWorkErrorsOfEmit come back as they are.
func TestWorkErrorsOfEmit(t *testing.T) {
	full := fmt.Errorf("the disk is full")
	r := work.NewReader(func(*work.Action) error { return full })
	if err := r.Add(asked("1", "bash", `{"command":"x"}`)); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(answered("1", "")); err != full {
		t.Error(err)
	}
	if err := r.Add(asked("2", "bash", `{"command":"x"}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Close(); err != full {
		t.Error(err)
	}
}

// FuzzWorkReader: no arguments, no details and no output make a reader panic, and
// every call is counted once.
func FuzzWorkReader(f *testing.F) {
	for _, seed := range [][4]string{
		{"bash", `{"command":"bash -lc \"ls\""}`, "Exit code 1\nError: x", `{"exitCode":1}`},
		{"shell", `{"command":["bash","-lc","apply_patch <<E\n*** Begin Patch\n*** Update File: a\n*** End Patch\nE"]}`, "x", `{"a":{"update":{"unified_diff":"@@ -1 +1 @@\n-a\n+b"}}}`},
		{"apply_patch", `"*** Begin Patch\n*** Move to: x\n*** Add File: a\n"`, "Traceback (most recent call last):\n\tx", `{"structuredPatch":[{"newStart":3,"lines":["+a",""," b"]}]}`},
		{"read_file", `{"absolute_path":"a","offset":1e3,"limit":"7"}`, "--- FAIL", `{"file":{"startLine":4,"numLines":2}}`},
		{"str_replace_editor", `{"command":"view","path":"a","view_range":[1,[2]]}`, "error[", `{"diff":"+  3 a\n-  4 b"}`},
		{"web_search", `{"type":"find_in_page","url":"https://x","pattern":"y"}`, "", `[]`},
		{"mcp_a_b_move_file", `{"source":"a","destination":"b"}`, "(Command exited with code -1)", `{"fileDiff":"@@ -1,2 +99999999999 @@\n+x"}`},
	} {
		f.Add(seed[0], []byte(seed[1]), []byte(seed[2]), []byte(seed[3]))
	}
	f.Fuzz(func(t *testing.T, tool string, arguments, output, details []byte) {
		result := answered("1", string(output))
		result.IsError, result.Details = len(output)%2 == 0, details
		call := asked("1", tool, string(arguments))
		call.Directory = output
		all, counts := told(t, call, result, &session.Message{Role: session.RoleShell, Parts: []session.Part{{Kind: session.PartCommand, Text: arguments}}})
		if counts.Calls != 2 || counts.Actions != len(all) || len(all) == 0 && counts.Others+counts.Unreadable == 0 {
			t.Errorf("%+v, %d actions", counts, len(all))
		}
		for _, a := range all {
			checkBounds(t, a)
		}
	})
}
