package hooks

import (
	"bytes"
	_ "embed" // the skill
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed files/SKILL.md
var recallSkill string

// Bundle is one directory that several runtimes take as a plugin: names below it
// and their content. sessctl is called by its name, so it has to be in PATH. The
// same pieces are what [For] registers.
func Bundle(version string) map[string]string {
	p := Program{Path: "sessctl"}
	about := map[string]any{
		"name": "sessctl", "version": version, "license": "MIT",
		"description": "Recall earlier sessions; archive and remember a session before it is compacted or ends",
		"keywords":    []string{"memory", "recall", "sessions", "archive"},
	}
	bundled := func(text string) string {
		return strings.NewReplacer(Mark+" claude; sessctl hook remove claude takes it away.", "Part of the sessctl plugin.",
			Mark+" openclaw; sessctl hook remove openclaw takes it away.", "Part of the sessctl plugin.").Replace(fill(text, p))
	}
	return map[string]string{
		".claude-plugin/plugin.json": indented(about),
		".codex-plugin/plugin.json":  indented(about),
		".mcp.json":                  indented(map[string]any{"mcpServers": map[string]server{"sessctl": {Command: p.Path, Args: p.args("mcp")}}}),
		"hooks/hooks.json":           indented(map[string]any{"hooks": claudeHooks(p, Any)}),
		"hooks/sessctl/HOOK.md":      bundled(openclawHook),
		"hooks/sessctl/handler.js":   bundled(openclawHandler),
		"package.json": indented(map[string]any{
			"name": "sessctl-plugin", "version": version, "type": "module", "private": true,
			"openclaw": map[string]any{"hooks": []string{"./hooks/sessctl"}},
		}),
		"commands/recall.md":     bundled(claudeCommand),
		"skills/recall/SKILL.md": recallSkill,
	}
}

// Any is the runtime of an event that one of several may have sent: those whose
// events have the shape of Claude Code's.
const Any = "any"

// claudeHooks are the hooks that Claude Code calls, by their events.
func claudeHooks(p Program, runtime string) map[string][]command {
	call := calling(p.line("hook", "run", runtime), hookSeconds)
	start := call
	start.Matcher = whenAgain
	return map[string][]command{"PreCompact": {call}, "SessionEnd": {call}, "SessionStart": {start}}
}

// whenAgain are the starts of a session of which its agent may have been before.
const whenAgain = "resume|compact|clear"

func indented(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("strings are always JSON: %v", err))
	}
	return b.String()
}
