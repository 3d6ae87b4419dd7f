package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// playClaudeHooks registers sessctl with Claude Code: what its own /compact takes
// out of a session was archived and remembered before, and the agent finds it
// through the tool.
func playClaudeHooks(ctx context.Context, s *stage) {
	c := newClaude(s)
	s.must("make a directory", os.MkdirAll(filepath.Join(s.home, ".claude"), 0o700))
	settings := filepath.Join(s.home, ".claude", "settings.json")
	mine := []byte("{\n    \"cleanupPeriodDays\": 30,\n    \"hooks\": {}\n}\n")
	s.must("write settings", os.WriteFile(settings, mine, 0o600))
	s.hook(ctx, "install", "claude")

	c.turn(ctx, "Plan the bakery week. The code of the store room is heron-basin-4711.")
	same(s, "the end of a turn in -p is the end of a session: it is in the archive", len(s.archives(ctx)) > 0, true)
	c.turn(ctx, "Which supplier has the best rye?", "--continue")
	c.turn(ctx, "/compact", "--continue")
	same(s, "what was compacted is in memory", s.recalls(ctx, "heron-basin-4711"), true)
	c.turn(ctx, "And on Sunday?", "--continue")
	same(s, "its agent was told that there is a memory", c.sent("sessctl remembers"), true)
	c.turn(ctx, "What was the code of the store room?\nCALL ToolSearch {\"query\": \"select:mcp__sessctl__memory_recall\", \"max_results\": 1}\nCALL mcp__sessctl__memory_recall {\"query\": \"code of the store room\"}",
		"--allowedTools", "mcp__sessctl__memory_recall,ToolSearch") // /compact keeps the last messages in the session's context, which the tool leaves out
	same(s, "another session's agent finds it through the tool, with its lines", c.toolSaid("heron-basin-4711", "memory_read {"), true)
	same(s, "no hook has failed", s.hookFailures(ctx), 0)

	s.hook(ctx, "remove", "claude")
	now, err := os.ReadFile(settings)
	same(s, "remove leaves the settings byte for byte as they were", err == nil && bytes.Equal(now, mine), true)
	written, err := os.ReadFile(filepath.Join(s.home, ".claude.json"))
	same(s, "and no server", err == nil && !strings.Contains(string(written), "sessctl"), true)
	c.turn(ctx, "Are you well?", "--continue")
}

// playClaudePlugin lets Claude Code take contrib/plugin.
func playClaudePlugin(ctx context.Context, s *stage) {
	c := newClaude(s)
	plugin, err := filepath.Abs(filepath.Join("contrib", "plugin"))
	s.must("find the plugin", err)
	_, err = s.output(ctx, c.dir, filepath.Join(s.runtime.bin, "claude"), "plugin", "validate", plugin)
	same(s, "claude plugin validate accepts it", err == nil, true)
	c.turn(ctx, "Plan the bakery week. The code of the store room is heron-basin-4711.", "--plugin-dir", plugin)
	same(s, "its hook keeps a session that ends", s.recalls(ctx, "heron-basin-4711"), true)
	c.turn(ctx, "/sessctl:recall store room", "--plugin-dir", plugin)
	same(s, "its command puts what was found before the model", c.sent("heron-basin-4711", "archives show"), true)
}

// playPiHooks registers sessctl with pi: a session that pi leaves is in memory.
func playPiHooks(ctx context.Context, s *stage) {
	p := newPi(s)
	s.briefed()
	s.hook(ctx, "install", "pi")
	p.turn(ctx, "Plan the bakery week. The code of the store room is heron-basin-4711.")
	same(s, "when pi quits, the session is in memory", s.recalls(ctx, "heron-basin-4711"), true)
	p.turn(ctx, "What was the code?\nCALL memory_recall {\"query\": \"code of the store room\"}")
	same(s, "another session's agent finds it through the tool", s.toolSaid("heron-basin-4711"), true)
	p.turn(ctx, "And on Sunday?", "-c")
	s.wasBriefed("What was the code?")
	same(s, "no hook has failed", s.hookFailures(ctx), 0)
	s.hook(ctx, "remove", "pi")
	_, err := os.Stat(filepath.Join(s.home, ".pi", "agent", "extensions"))
	same(s, "remove leaves nothing", os.IsNotExist(err), true)
}

// playOpenClawHooks registers sessctl with OpenClaw: what a reset closes is in
// memory, and the agent of the fresh session finds it.
func playOpenClawHooks(ctx context.Context, s *stage) {
	o := newOpenClaw(s)
	config := filepath.Join(s.home, ".openclaw", "openclaw.json")
	before, err := os.ReadFile(config)
	s.must("read the configuration", err)
	s.briefed()
	s.hook(ctx, "install", "openclaw")
	o.startGateway(ctx)
	o.ask(ctx, "Plan the bakery week. The code of the store room is heron-basin-4711.")
	_, err = o.call(ctx, "sessions.reset", object{"key": o.key()})
	s.must("reset the session", err)
	same(s, "what a reset closes is in memory", s.recalls(ctx, "heron-basin-4711"), true)
	o.ask(ctx, "Are you well?")
	s.wasBriefed("heron-basin-4711")
	if strings.Contains(s.name, "2026.9") {
		o.ask(ctx, "What was the code?\nCALL tool_describe {\"id\": \"sessctl__memory_recall\"}\nCALL tool_call {\"id\": \"sessctl__memory_recall\", \"args\": {\"query\": \"code of the store room\"}}")
		same(s, "the agent of the fresh session finds it through the tool", s.toolSaid("heron-basin-4711", "memory_read {"), true)
	} else {
		o.ask(ctx, "What was the code?\nCALL sessctl__memory_recall {\"query\": \"code of the store room\"}")
		same(s, "the agent of the fresh session finds it through the tool", s.toolSaid("heron-basin-4711", "memory_read {"), true)
	}
	same(s, "no hook has failed", s.hookFailures(ctx), 0)
	s.stopAll()
	changed, err := os.ReadFile(config)
	s.must("read the configuration", err)
	s.hook(ctx, "remove", "openclaw")
	now, err := os.ReadFile(config)
	s.must("read the configuration", err)
	if bytes.Contains(changed, []byte("lastTouched")) { // the gateway has written its settings anew
		same(s, "remove leaves nothing of ours in the settings", bytes.Contains(now, []byte(`"sessctl"`)), false)
	} else {
		same(s, "remove leaves the settings byte for byte as they were", bytes.Equal(now, before), true)
	}
	_, err = os.Stat(filepath.Join(s.home, ".openclaw", "hooks", "sessctl"))
	same(s, "and no hook", os.IsNotExist(err), true)
}

// playCodexHooks registers sessctl with Codex, whose hooks run once they are
// trusted.
func playCodexHooks(ctx context.Context, s *stage) {
	work, home := filepath.Join(s.home, "work"), filepath.Join(s.home, ".codex")
	s.must("make a working directory", errors.Join(os.MkdirAll(work, 0o700), os.MkdirAll(home, 0o700)))
	config := []byte(fmt.Sprintf("model = %q\nmodel_provider = \"mock\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n\n"+
		"[model_providers.mock]\nname = \"Mock\"\nbase_url = %q\nwire_api = \"responses\"\nrequires_openai_auth = false\n", modelName, s.model.url()))
	s.must("write a configuration", os.WriteFile(filepath.Join(home, "config.toml"), config, 0o600))
	s.briefed()
	s.hook(ctx, "install", "codex")
	turn := func(say string, args ...string) {
		_, err := s.output(ctx, work, filepath.Join(s.runtime.bin, "codex"), append(append([]string{"exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"}, args...), say)...)
		s.must("a turn of codex", err)
	}
	turn("Plan the bakery week. The code of the store room is heron-basin-4711.")
	same(s, "the end of a session keeps it", s.recalls(ctx, "heron-basin-4711"), true)
	turn("Which supplier has the best rye?", "resume", "--last")
	s.wasBriefed("heron-basin-4711")
	turn("What was the code?\nCALL memory_recall {\"query\": \"code of the store room\"}")
	same(s, "another session's agent finds it through the tool", s.toolSaid("heron-basin-4711", "memory_read {"), true)
	same(s, "no hook has failed", s.hookFailures(ctx), 0)
	s.hook(ctx, "remove", "codex")
	now, err := os.ReadFile(filepath.Join(home, "config.toml"))
	same(s, "remove leaves no server", err == nil && !bytes.Contains(now, []byte("sessctl")), true)
	_, err = os.Stat(filepath.Join(home, "hooks.json"))
	same(s, "and no hooks", os.IsNotExist(err), true)
}

// playGeminiHooks registers sessctl with Gemini CLI.
func playGeminiHooks(ctx context.Context, s *stage) {
	g, settings := newGemini(s), filepath.Join(s.home, ".gemini", "settings.json")
	turn := func(say string, args ...string) { g.turn(ctx, say, args...) }
	s.briefed()
	s.hook(ctx, "install", "gemini")
	turn("Plan the bakery week. The code of the store room is heron-basin-4711.")
	same(s, "the end of a session keeps it", s.recalls(ctx, "heron-basin-4711"), true)
	turn("Which supplier has the best rye?", "--resume", "latest")
	s.wasBriefed("heron-basin-4711")
	turn("What was the code?\nCALL mcp_sessctl_memory_recall {\"query\": \"code of the store room\"}")
	same(s, "another session's agent finds it through the tool", s.toolSaid("heron-basin-4711", "memory_read {"), true)
	same(s, "no hook has failed", s.hookFailures(ctx), 0)
	s.hook(ctx, "remove", "gemini")
	now, err := os.ReadFile(settings) // which Gemini CLI has written anew meanwhile
	same(s, "remove leaves nothing of ours in the settings", err == nil && bytes.Contains(now, []byte("gemini-api-key")) && !bytes.Contains(now, []byte("sessctl")) && !bytes.Contains(now, []byte("mcpServers")), true)
}

// briefed has agents told where the work stands, in 1,500 characters, when a session
// starts again.
func (s *stage) briefed() {
	dir := filepath.Join(s.home, ".config", "sessctl")
	s.must("make a directory", os.MkdirAll(dir, 0o700))
	s.must("write a configuration", os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("hooks:\n  brief: 1500\n"), 0o600))
}

// wasBriefed checks that the last request told the model where the work stands, as a
// quotation that has what was asked last, and after it that there is a memory.
func (s *stage) wasBriefed(asked string) {
	_, last := s.model.requests()
	all := last.told
	for _, m := range last.said {
		all += "\n" + m.text
	}
	end := strings.LastIndex(all, "sessctl remembers")
	before := all[:max(end, 0)]
	quoted := before[max(strings.LastIndex(before, "[sessctl recall: quoted"), 0):]
	quoted, _, closed := strings.Cut(quoted, "[end of sessctl recall]")
	same(s, "a session that starts again is told of the memory", end >= 0, true)
	same(s, "and before that where the work stands", closed && strings.Contains(quoted, asked), true)
}

// hook runs sessctl hook.
func (s *stage) hook(ctx context.Context, what, runtime string) {
	_, err := s.output(ctx, s.home, s.sessctl, "hook", what, runtime)
	s.must("hook "+what, err)
}

// archives are the ids of the archives.
func (s *stage) archives(ctx context.Context) (ids []string) {
	out, err := s.output(ctx, s.home, s.sessctl, "archives", "list", "--json")
	s.must("list the archives", err)
	var doc struct {
		Archives []struct {
			ID string `json:"id"`
		} `json:"archives"`
	}
	s.must("read what sessctl printed", json.Unmarshal(out, &doc))
	for _, a := range doc.Archives {
		ids = append(ids, a.ID)
	}
	return ids
}

// recalls reports whether memory finds a word. A hook that the runtime does not
// wait for may still be at work.
func (s *stage) recalls(ctx context.Context, word string) bool {
	for range 40 {
		if out, err := s.output(ctx, s.home, s.sessctl, "recall", word); err == nil && strings.Contains(string(out), word) {
			return true
		}
		time.Sleep(250 * time.Millisecond)
	}
	return false
}

// hookFailures is how many hooks went wrong.
func (s *stage) hookFailures(ctx context.Context) int {
	out, err := s.output(ctx, s.home, s.sessctl, "hook", "status", "--json")
	s.must("ask for the hooks", err)
	var doc struct {
		Failures []json.RawMessage `json:"failures"`
	}
	s.must("read what sessctl printed", json.Unmarshal(out, &doc))
	return len(doc.Failures)
}

// toolSaid reports whether a tool has answered the model with all these words.
func (s *stage) toolSaid(words ...string) bool {
	n, _ := s.model.requests()
	return slices.ContainsFunc(s.model.since(max(0, n-20)), func(r request) bool {
		return slices.ContainsFunc(r.said, func(m message) bool {
			return m.role == "tool" && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m.text, w) })
		})
	})
}
