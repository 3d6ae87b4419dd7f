package cmd

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
)

// What the agents of one name say: each in its runtime, and with a word of its own
// in everything that a tool can show.
const (
	heronOfPi     = "heron"
	otterOfClaude = "otter"
	toolOfPi      = "quorvixer" // no English: it is found though it is typed wrongly
	toolOfClaude  = "brindlomat"
)

// twoOfOneName is a home in which pi and Claude Code each have an agent "w-mill". All
// is archived and remembered, facts too, and each has stored a lesson.
func twoOfOneName(t *testing.T) *app {
	t.Helper()
	return twoAgents(t, "w-mill", "w-mill", strings.NewReplacer())
}

// twoAgents is such a home with other names for the agents. in changes what is written.
func twoAgents(t *testing.T, pi, claude string, in *strings.Replacer) *app {
	t.Helper()
	home := t.TempDir()
	write := func(path, text string) {
		path, text = filepath.Join(home, path), in.Replace(text)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		past := time.Now().Add(-24 * time.Hour)
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	write(".pi/agent/sessions/--"+pi+"--/2026-05-04T06-12-31-114Z_aaaaaaaa-1111-4222-8333-444444444444.jsonl", piMill)
	write(".claude/projects/-"+claude+"/bbbbbbbb-1111-4222-8333-444444444444.jsonl", claudeMill)
	a := testApp(newStreams(strings.NewReader(""), io.Discard, io.Discard), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Settings: workspace.Settings{Now: time.Now, Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}})
	for _, line := range []string{"archive --all --remember", "extract-facts --all"} {
		root := newRootCommand(a)
		root.SetArgs(strings.Fields(line))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	for runtime, word := range map[string]string{"pi": heronOfPi, "claude": otterOfClaude} {
		c := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true, Runtime: runtime, Agent: agentset.Set(map[string]string{"pi": pi, "claude": claude}[runtime])})
		for _, text := range []string{"Whoever counts sacks writes the total on the door, said the " + word + ".", "Sacks are counted from the left."} {
			if answer, failed := call(t, c, "memory_store", map[string]any{"category": "fact", "text": text}); failed || !strings.HasPrefix(answer, "stored as") {
				t.Fatalf("%s: %s", runtime, answer)
			}
		}
	}
	return a
}

// One server is bound to one agent. Whatever its tools are asked, nothing of the agent
// of the same name in the other runtime comes out: no text, no archive, no session.
func TestMCPServesOneOfTwoAgentsOfOneName(t *testing.T) {
	a := twoOfOneName(t)
	entries, err := selection.Archived(t.Context(), a.Run, archive.Filter{})
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	other := map[string]string{"pi": "claude", "claude": "pi"}
	word := map[string]string{"pi": heronOfPi, "claude": otterOfClaude}
	said := map[string][]string{"pi": {heronOfPi, toolOfPi}, "claude": {otterOfClaude, toolOfClaude}}
	for runtime, foreign := range other {
		c := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true, Runtime: runtime, Agent: "w-mill"})
		his := entries[slices.IndexFunc(entries, func(e archive.Entry) bool { return e.Runtime == foreign })]
		mine := entries[slices.IndexFunc(entries, func(e archive.Entry) bool { return e.Runtime == runtime })]
		records := recordsOf(t, a, foreign)
		shown := map[string]bool{}
		for _, tool := range toolsOf(t, c) {
			for _, args := range questionsTo(t, tool, his, records) {
				for _, agent := range []any{nil, "w-mill", runtime + "/w-mill", foreign + "/w-mill", foreign, "", "w-"} {
					if delete(args, "agent"); agent != nil {
						args["agent"] = agent
					}
					if tool == "memory_read" {
						delete(args, "agent")
					}
					text, failed := callAny(t, c, tool, args)
					for _, his := range append([]string{his.ID, his.Session, foreign + " session"}, said[foreign]...) {
						if strings.Contains(text, his) && !asksFor(args, his) {
							t.Errorf("%s of %s, asked %v, shows %q of %s: %s", tool, runtime, args, his, foreign, text)
						}
					}
					if agent == foreign+"/w-mill" && tool != "memory_read" && !failed {
						t.Errorf("%s of %s answers for %s: %s", tool, runtime, agent, text)
					}
					shown[tool] = shown[tool] || !failed && (strings.Contains(text, word[runtime]) || strings.Contains(text, mine.Session))
				}
			}
		}
		if text, _ := call(t, c, "memory_read", map[string]any{"archive": mine.ID}); !strings.Contains(text, word[runtime]) {
			t.Errorf("%s does not read its own archive: %s", runtime, text)
		}
		said := map[string]string{"pi": "I prefer the heron as the bird who counts the sacks", "claude": "I prefer the otter as the animal who counts the sacks"}
		if text, failed := call(t, c, "memory_store", map[string]any{"category": "lesson", "text": said[foreign]}); failed {
			t.Errorf("%s is told that the other agent has said so: %s", runtime, text)
		}
		if text, failed := call(t, c, "memory_store", map[string]any{"category": "lesson", "text": said[runtime]}); !failed || !strings.Contains(text, "it repeats") {
			t.Errorf("%s stores what it has said: %s", runtime, text)
		}
		for _, tool := range []string{"memory_recall", "work_history", "memory_state", "memory_facts", "sessions", "session_sizes", "session_compact"} {
			if !shown[tool] {
				t.Errorf("%s shows nothing of %s itself", tool, runtime)
			}
		}
	}
}

// An agent that is named alone must be the only one of its name: when the server
// begins, and with every call.
func TestMCPAgentOfSeveralRuntimes(t *testing.T) {
	a := twoOfOneName(t)
	err := runMCP(t.Context(), a, mcptool.MCPOptions{Agent: "w-mill"})
	if text := mcptool.ToolError(err); !strings.Contains(text, `2 runtimes have an agent "w-mill"`) || !strings.Contains(text, "claude/w-mill, pi/w-mill") {
		t.Errorf("%v", text)
	}
	c := askMCP(t, a, mcptool.MCPOptions{Agent: "w-mill", AllowWrite: true})
	for _, tool := range toolsOf(t, c) {
		for _, args := range questionsTo(t, tool, archive.Entry{ID: "aaaaaaaa", Meta: archive.Meta{Session: "bbbbbbbb"}}, []string{"0"}) {
			if text, failed := callAny(t, c, tool, args); !failed || !strings.Contains(text, "claude/w-mill, pi/w-mill") {
				t.Errorf("%s %v: %s", tool, args, text)
			}
		}
	}
	gone := askMCP(t, a, mcptool.MCPOptions{Agent: "gone", Runtime: "pi", AllowWrite: true})
	for _, tool := range toolsOf(t, gone) {
		for _, args := range questionsTo(t, tool, archive.Entry{ID: "aaaaaaaa", Meta: archive.Meta{Session: "bbbbbbbb"}}, []string{"0"}) {
			delete(args, "agent")
			if tool == "session_compact" {
				args["agent"] = "gone"
			}
			if text, failed := callAny(t, gone, tool, args); !failed && tool != "memory_store" || strings.Contains(text, "w-mill") {
				t.Errorf("%s %v of an agent that is not there: %s", tool, args, text)
			}
		}
	}
	everybody := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true})
	lesson := map[string]any{"category": "lesson", "text": "Flour is weighed before it is bagged, never after.", "agent": "w-mill"}
	if text, failed := call(t, everybody, "memory_store", lesson); !failed || !strings.Contains(text, "claude/w-mill, pi/w-mill") {
		t.Errorf("memory_store of a name that two agents have: %s", text)
	}
	lesson["agent"] = "pi/w-mill"
	if text, failed := call(t, everybody, "memory_store", lesson); failed || !strings.Contains(text, "agent w-mill") {
		t.Errorf("memory_store of one of them: %s", text)
	}
	if text, failed := call(t, everybody, "memory_facts", map[string]any{"agent": "claude/w-mill"}); failed || strings.Contains(text, heronOfPi) || !strings.Contains(text, otterOfClaude) {
		t.Errorf("memory_facts of one of them: %s", text)
	}
	if text, failed := call(t, everybody, "sessions", map[string]any{"agent": "w-mill"}); failed || strings.Count(text, "w-mill") != 2 {
		t.Errorf("sessions of both: %s", text)
	}
	if text, failed := call(t, everybody, "sessions", map[string]any{"agent": "codex/w-mill"}); !failed || !strings.Contains(text, "claude/w-mill, pi/w-mill") {
		t.Errorf("sessions of neither: %s", text)
	}
}

// A server may be bound to a project, by its directory or by a name that no agent has:
// it serves all of its agents. By the name of an agent it serves that agent, also where
// the project is called so. No call makes any of them wider.
func TestMCPServesAProject(t *testing.T) {
	a := twoAgents(t, "w-my.mill", "w-my-mill", strings.NewReplacer("/w/mill", "/w/my.mill"))
	ask := map[string]any{"query": "which bird or animal counted the sacks", "limit": 10}
	for _, of := range []struct {
		agent      agentset.Set
		pi, claude bool
	}{{"/w/my.mill", true, true}, {"w-my.mill", true, false}, {"w-my-mill", false, true}} {
		o := mcptool.MCPOptions{Agent: of.agent, AllowWrite: true}
		if err := o.RefuseSeveral(t.Context(), a.Run); err != nil {
			t.Fatal(err)
		}
		c := askMCP(t, a, o)
		for _, asked := range []string{"", "w-my.mill", "w-my-mill", "pi/w-my.mill", "claude/w-my-mill", "/w/my.mill"} {
			ask["agent"] = asked
			text, failed := call(t, c, "memory_recall", ask)
			if !of.pi && strings.Contains(text, heronOfPi) || !of.claude && strings.Contains(text, otterOfClaude) {
				t.Errorf("%s, asked for %q, shows what is not its own: %s", of.agent, asked, text)
			}
			if mine := asked == ""; mine && (failed || of.pi != strings.Contains(text, heronOfPi) || of.claude != strings.Contains(text, otterOfClaude)) {
				t.Errorf("%s: %s", of.agent, text)
			}
		}
	}
	all := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true})
	for asked, want := range map[string]int{"w-my.mill": 2, "w-my-mill": 1, "/w/my.mill": 2, "pi/w-my.mill": 1} {
		if text, failed := call(t, all, "sessions", map[string]any{"agent": asked}); failed || strings.Count(text, "memory_read {") != want {
			t.Errorf("sessions of %s: %s", asked, text)
		}
	}
	lesson := map[string]any{"category": "lesson", "text": "Flour is weighed before it is bagged, never after.", "agent": "w-my.mill"}
	if text, failed := call(t, all, "memory_store", lesson); failed || !strings.Contains(text, "agent w-my.mill") {
		t.Errorf("memory_store of an agent that is called like its project: %s", text)
	}
}

// A server that is bound to a project by a name stays bound to the project when an agent
// of that name comes.
func TestMCPStaysBoundToAProject(t *testing.T) {
	o := mcptool.MCPOptions{Agent: "w-my.mill"}
	a := twoAgents(t, "w-mill", "w-my-mill", strings.NewReplacer("/w/mill", "/w/my.mill"))
	if err := o.RefuseSeveral(t.Context(), a.Run); err != nil || !o.Project {
		t.Fatal(o, err)
	}
	from := filepath.Join(a.Home(), ".pi/agent/sessions")
	if err := os.Rename(filepath.Join(from, "--w-mill--"), filepath.Join(from, "--w-my.mill--")); err != nil {
		t.Fatal(err)
	}
	workspace.End(a.Run)
	all := askMCP(t, a, mcptool.MCPOptions{AllowWrite: true})
	lesson := map[string]any{"category": "lesson", "text": "Flour is weighed before it is bagged, never after.", "agent": "/w/my.mill/"}
	if text, failed := call(t, all, "memory_store", lesson); failed || !strings.Contains(text, "agent w-my.mill") {
		t.Error(text)
	}
	own, err := o.Own(t.Context(), a.Run)
	if err != nil || !own.Holds("claude", "w-my-mill") || !own.Holds("pi", "w-my.mill") || own.Holds("pi", "w-mill") {
		t.Error(own.Agent.Pairs(), err)
	}
}

// toolsOf are the names of the tools that a server offers.
func toolsOf(t *testing.T, c *mcp.ClientSession) (names []string) {
	t.Helper()
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// questionsTo are the ways in which a tool may be asked for what is of another agent,
// of which there are an archive and records.
func questionsTo(t *testing.T, tool string, his archive.Entry, records []string) []map[string]any {
	t.Helper()
	switch tool {
	case "memory_recall":
		return []map[string]any{
			{"query": "which bird or animal counted the sacks", "limit": 10}, {"query": "heron otter", "limit": 10}, {"query": "quorvxier brindlmoat sacks", "limit": 10}, {"query": "where is the quorvxier"}, {"query": "where were we"}, {"query": "yes, continue"}, {"query": "where is the brindlmoat"}, {"query": "sacks", "category": "fact", "limit": 10},
			{"query": "total on the door", "category": "session_history"}, {"query": "sacks " + his.Session},
		}
	case "work_history":
		return []map[string]any{{"file": "count.txt"}, {"command": "count-sacks"}, {"error": "no such sack"}, {"query": "sacks", "limit": 10}}
	case "memory_read":
		list := []map[string]any{{"archive": his.ID}, {"archive": his.ID[:6]}, {"archive": his.Session}, {"archive": his.Session[:1], "neighbors": 10}}
		for _, id := range records {
			list = append(list, map[string]any{"hit": id, "neighbors": 10}, map[string]any{"hit": id[:min(len(id), 16)]})
		}
		return list
	case "memory_state":
		return []map[string]any{{}, {"session": his.Session}}
	case "memory_facts":
		return []map[string]any{{}, {"kind": "preference"}, {"query": "who counts the sacks"}, {"query": "heron otter"}, {"query": "where is the quorvxier or the brindlmoat"}}
	case "sessions":
		return []map[string]any{{}, {"since": "3650d"}}
	case "session_sizes":
		return []map[string]any{{}, {"over": true}}
	case "memory_store":
		return []map[string]any{{"category": "lesson", "text": "The heron and the otter are never asked to count."}, {"category": "fact", "text": "Sacks are counted from the left."}}
	case "session_continue":
		return []map[string]any{{"session": his.Session, "in": "pi"}, {"session": his.Session[:4], "in": "pi"}, {"session": his.Session, "in": "codex", "agent": "w-mill"}}
	case "session_compact":
		return []map[string]any{{"agent": "w-mill", "force": true}, {"agent": "w-mill", "session": his.Session, "force": true}, {"agent": "w-mill", "session": his.Session[:4], "force": true}}
	}
	t.Fatalf("nobody asks the tool %s for what is another agent's", tool)
	return nil
}

// callAny is call for arguments that a schema may refuse.
func callAny(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) (string, bool) {
	t.Helper()
	result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

// asksFor reports whether a question has a text itself.
func asksFor(args map[string]any, text string) bool {
	said, _ := json.Marshal(args) // such a map always is JSON
	return strings.Contains(string(said), text)
}

// recordsOf are ids of the records that memory has of a runtime.
func recordsOf(t *testing.T, a *app, runtime string) []string {
	t.Helper()
	var out strings.Builder
	root := newRootCommand(a.printingTo(&out))
	root.SetArgs([]string{"memory", "export", "--runtime", runtime})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, found := range regexp.MustCompile(`"id":"([0-9a-f]+)"`).FindAllStringSubmatch(out.String(), -1) {
		ids = append(ids, found[1])
	}
	if len(ids) == 0 {
		t.Fatal("memory has nothing of " + runtime)
	}
	return ids
}

const piMill = `{"type":"session","version":3,"id":"aaaaaaaa-1111-4222-8333-444444444444","timestamp":"2026-05-04T06:12:31.114Z","cwd":"/w/mill"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-05-04T06:12:32.114Z","message":{"role":"user","content":"Remember that I prefer the heron as the bird who counts the sacks. How many sacks are there?","timestamp":1777875152114}}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-05-04T06:12:33.114Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"count-sacks --bird heron"}}],"stopReason":"toolUse","usage":{"input":10,"output":5,"totalTokens":15},"timestamp":1777875153114}}
{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-05-04T06:12:34.114Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"error: no such sack: heron\nexit code 1"}],"isError":true,"timestamp":1777875154114}}
{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-05-04T06:12:35.114Z","message":{"role":"assistant","content":[{"type":"text","text":"The heron counted fourteen sacks, and wrote the total on the door with the quorvixer."}],"stopReason":"stop","usage":{"input":10,"output":5,"totalTokens":15},"timestamp":1777875155114}}
{"type":"message","id":"a5","parentId":"a4","timestamp":"2026-05-04T06:12:36.114Z","message":{"role":"user","content":"Remember: the heron always counts the sacks.","timestamp":1777875156114}}
{"type":"message","id":"a6","parentId":"a5","timestamp":"2026-05-04T06:12:37.114Z","message":{"role":"assistant","content":[{"type":"text","text":"Noted: the heron counts."}],"stopReason":"stop","usage":{"input":10,"output":5,"totalTokens":15},"timestamp":1777875157114}}
`

const claudeMill = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"Remember that I prefer the otter as the animal who counts the sacks. How many sacks are there?"},"uuid":"u1","timestamp":"2026-05-18T09:00:00.000Z","sessionId":"bbbbbbbb-1111-4222-8333-444444444444","cwd":"/w/mill","version":"2.1.330"}
{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":{"id":"m1","role":"assistant","model":"claude","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"count-sacks --animal otter"}}]},"uuid":"a1","timestamp":"2026-05-18T09:00:01.000Z","sessionId":"bbbbbbbb-1111-4222-8333-444444444444","cwd":"/w/mill","version":"2.1.330"}
{"parentUuid":"a1","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"error: no such sack: otter\nexit code 1"}]},"uuid":"u2","timestamp":"2026-05-18T09:00:02.000Z","sessionId":"bbbbbbbb-1111-4222-8333-444444444444","cwd":"/w/mill","version":"2.1.330"}
{"parentUuid":"u2","isSidechain":false,"type":"assistant","message":{"id":"m2","role":"assistant","model":"claude","content":[{"type":"text","text":"The otter counted sixteen sacks, and wrote the total on the door with the brindlomat."}]},"uuid":"a2","timestamp":"2026-05-18T09:00:03.000Z","sessionId":"bbbbbbbb-1111-4222-8333-444444444444","cwd":"/w/mill","version":"2.1.330"}
{"parentUuid":"a2","isSidechain":false,"type":"user","message":{"role":"user","content":"Remember: the otter always counts the sacks."},"uuid":"u3","timestamp":"2026-05-18T09:00:04.000Z","sessionId":"bbbbbbbb-1111-4222-8333-444444444444","cwd":"/w/mill","version":"2.1.330"}
{"parentUuid":"u3","isSidechain":false,"type":"assistant","message":{"id":"m3","role":"assistant","model":"claude","content":[{"type":"text","text":"Noted: the otter counts."}]},"uuid":"a3","timestamp":"2026-05-18T09:00:05.000Z","sessionId":"bbbbbbbb-1111-4222-8333-444444444444","cwd":"/w/mill","version":"2.1.330"}
`
