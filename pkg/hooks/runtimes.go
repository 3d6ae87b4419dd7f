package hooks

import (
	_ "embed" // the files that are wholly ours
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// Home says where the runtimes keep their settings; each directory is absolute.
type Home struct {
	Claude     string // ~/.claude
	ClaudeJSON string // ~/.claude.json, where Claude Code lists its MCP servers
	Codex      string // ~/.codex
	Gemini     string // ~/.gemini
	OpenClaw   string // ~/.openclaw
	Pi         string // ~/.pi/agent
}

// Target is a runtime that sessctl is registered with.
type Target struct {
	Runtime string
	Program string // that it calls
	Dir     string // of its settings: without it the runtime is not there
	Notes   []string
	files   []targetFile
}

type targetFile struct {
	path string
	what string // for people: hooks, MCP server, command
	ours registered
}

// Names are the runtimes that [For] knows.
func Names() []string { return []string{"claude", "codex", "gemini", "openclaw", "pi"} }

// For returns what is registered with a runtime, and false for one that it does
// not know.
func For(runtime string, home Home, p Program) (Target, bool) {
	build := map[string]func(Home, Program) Target{"claude": claude, "codex": codex, "gemini": gemini, "openclaw": openclaw, "pi": pi}[runtime]
	if build == nil {
		return Target{}, false
	}
	t := build(home, p)
	t.Program = p.Path
	return t, true
}

// How long a runtime waits for a hook, in seconds: archiving a log of 100 MB
// takes two. Claude Code ends a SessionEnd hook after 1.75 s if nothing is said
// (docs/dev/formats.md, "Hooks").
const hookSeconds = 60

// command is an entry in a list of hooks, as Claude Code, Codex and Gemini CLI
// read it.
type command struct {
	Matcher string  `json:"matcher,omitempty"`
	Hooks   []entry `json:"hooks"`
}

type entry struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Name    string `json:"name,omitempty"`
	Timeout int    `json:"timeout"`
}

func calling(line string, timeout int) command {
	return command{Hooks: []entry{{Type: "command", Command: line, Timeout: timeout}}}
}

// server is an MCP server in settings of JSON.
type server struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
	Trust   bool              `json:"trust,omitempty"`

	Exposure     string            `json:"exposure,omitempty"`     // pi: how the model reaches its tools
	ToolExposure map[string]string `json:"toolExposure,omitempty"` // and single ones
}

func claude(h Home, p Program) Target {
	var calls []element
	for _, event := range []string{"PreCompact", "SessionEnd", "SessionStart"} {
		for _, call := range claudeHooks(p, "claude")[event] {
			calls = append(calls, element{[]string{"hooks", event}, call})
		}
	}
	return Target{Runtime: "claude", Dir: h.Claude, files: []targetFile{
		{filepath.Join(h.Claude, "settings.json"), "hooks", inSettings{elements: calls}},
		{h.ClaudeJSON, "MCP server", inSettings{members: []member{{path: []string{"mcpServers", "sessctl"}, value: server{Type: "stdio", Command: p.Path, Args: p.args("mcp")}}}}},
		{filepath.Join(h.Claude, "commands", "recall.md"), "command /recall", whole{fill(claudeCommand, p)}},
	}}
}

func codex(h Home, p Program) Target {
	call := calling(p.line("hook", "run", "codex"), hookSeconds)
	start := call
	start.Matcher = whenAgain
	return Target{Runtime: "codex", Dir: h.Codex, Notes: []string{"Codex runs hooks only after you have trusted them: start codex once and accept them"}, files: []targetFile{
		{filepath.Join(h.Codex, "hooks.json"), "hooks", inSettings{elements: []element{
			{[]string{"hooks", "PreCompact"}, call}, {[]string{"hooks", "SessionEnd"}, call}, {[]string{"hooks", "SessionStart"}, start},
		}}},
		{filepath.Join(h.Codex, "config.toml"), "MCP server", inTable{"mcp_servers.sessctl", tomlServer{p.Path, p.args("mcp")}}},
	}}
}

// tomlServer is an MCP server in Codex's settings.
type tomlServer struct {
	Command string   `toml:"command"`
	Args    []string `toml:"args"`
}

func gemini(h Home, p Program) Target {
	call := calling(p.line("hook", "run", "gemini"), hookSeconds*1000) // milliseconds there
	call.Hooks[0].Name = "sessctl"
	return Target{Runtime: "gemini", Dir: h.Gemini, files: []targetFile{
		{filepath.Join(h.Gemini, "settings.json"), "hooks and MCP server", inSettings{
			elements: []element{{[]string{"hooks", "SessionEnd"}, call}, {[]string{"hooks", "SessionStart"}, call}},
			members:  []member{{path: []string{"mcpServers", "sessctl"}, value: server{Command: p.Path, Args: p.args("mcp"), Trust: true}}},
		}},
		{filepath.Join(h.Gemini, "commands", "recall.toml"), "command /recall", whole{fill(geminiCommand, p)}},
	}}
}

func openclaw(h Home, p Program) Target {
	dir := filepath.Join(h.OpenClaw, "hooks", "sessctl")
	return Target{Runtime: "openclaw", Dir: h.OpenClaw, Notes: []string{"a gateway that runs reads its hooks when it is started again"}, files: []targetFile{
		{filepath.Join(dir, "HOOK.md"), "hook", whole{openclawHook}},
		{filepath.Join(dir, "handler.js"), "hook", whole{fill(openclawHandler, p)}},
		{filepath.Join(dir, "package.json"), "hook", whole{`{"type": "module", "description": "` + mark + "\"}\n"}},
		{filepath.Join(h.OpenClaw, "openclaw.json"), "MCP server, and the hook is switched on", inSettings{members: []member{
			{path: []string{"hooks", "internal", "enabled"}, value: true, keep: true},
			{path: []string{"hooks", "internal", "entries", "sessctl"}, value: map[string]bool{"enabled": true}},
			{path: []string{"mcp", "servers", "sessctl"}, value: server{Command: p.Path, Args: p.args("mcp")}},
		}}},
	}}
}

// pi reads mcp.json since 1.0. Its model has memory_recall from the extension, and
// looks for the other tools when it needs them.
func pi(h Home, p Program) Target {
	return Target{Runtime: "pi", Dir: h.Pi, files: []targetFile{
		{filepath.Join(h.Pi, "mcp.json"), "MCP server, for pi 1.0 and later", inSettings{members: []member{{path: []string{"mcpServers", "sessctl"}, value: server{
			Command: p.Path, Args: p.args("mcp"), Exposure: "deferred", ToolExposure: map[string]string{"memory_recall": "hidden"},
		}}}}},
		{filepath.Join(h.Pi, "extensions", "sessctl.ts"), "extension: hooks and the tool memory_recall", whole{fill(piExtension, p)}},
	}}
}

var (
	//go:embed files/claude-recall.md
	claudeCommand string
	//go:embed files/gemini-recall.toml
	geminiCommand string
	//go:embed files/HOOK.md
	openclawHook string
	//go:embed files/openclaw-handler.js
	openclawHandler string
	//go:embed files/pi-extension.ts
	piExtension string
)

// fill puts the program into one of our files: __PROGRAM__ for a shell,
// __PATH__ and __ARGS__ as JSON.
func fill(text string, p Program) string {
	return strings.NewReplacer("__PROGRAM__", p.line(), "__PATH__", asJSON(p.Path), "__ARGS__", asJSON(p.args())).Replace(text)
}

func asJSON(v any) string {
	if list, ok := v.([]string); ok && list == nil {
		return "[]"
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("strings are always JSON: %v", err))
	}
	return string(b)
}
