package hooks

import (
	"bytes"
	_ "embed" // the skill
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed files/SKILL.md
var recallSkill string

var update = flag.Bool("update", false, "write contrib/plugin anew")

// The bundle in contrib/plugin is what the program would install.
func TestBundle(t *testing.T) {
	dir := filepath.Join("..", "..", "contrib", "plugin")
	bundle := bundleOf("0.1.0")
	for name, text := range bundle {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s differs (%v): go test ./pkg/hooks -run TestBundle -update writes it", path, err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if _, ours := bundle[filepath.ToSlash(name)]; !ours && filepath.Base(name) != "README.md" {
			t.Errorf("%s is in no bundle", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// bundleOf is one directory that several runtimes take as a plugin: names below it
// and their content. sessctl is called by its name, so it has to be in PATH. The
// same pieces are what [For] registers.
func bundleOf(version string) map[string]string {
	p := Program{Path: "sessctl"}
	about := map[string]any{
		"name": "sessctl", "version": version, "license": "MIT",
		"description": "Recall earlier sessions; archive and remember a session before it is compacted or ends",
		"keywords":    []string{"memory", "recall", "sessions", "archive"},
	}
	bundled := func(text string) string {
		return strings.NewReplacer(mark+" claude; sessctl hook remove claude takes it away.", "Part of the sessctl plugin.",
			mark+" openclaw; sessctl hook remove openclaw takes it away.", "Part of the sessctl plugin.").Replace(fill(text, p))
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
