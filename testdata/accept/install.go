package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// runtimeName is one of the runtimes that are tried.
type runtimeName string

const (
	runtimeNone        runtimeName = "" // what needs none
	runtimePi          runtimeName = "pi"
	runtimePiNewer     runtimeName = "pi, newer"
	runtimePiToday     runtimeName = "pi, today" // under its new name
	runtimeOpenClaw    runtimeName = "openclaw"
	runtimeOpenClaw9   runtimeName = "openclaw, newer"
	runtimeClaude      runtimeName = "claude"
	runtimeClaudeNewer runtimeName = "claude, newer"
	runtimeCodex       runtimeName = "codex"
	runtimeGemini      runtimeName = "gemini"
	runtimeCopilot     runtimeName = "copilot"
	runtimeN8N         runtimeName = "n8n"
	runtimeOpenCode    runtimeName = "opencode"
	runtimeKilo        runtimeName = "kilo"
	runtimeOMP         runtimeName = "omp"
	runtimeQwen        runtimeName = "qwen"
	runtimeCline       runtimeName = "cline"
	runtimeHermes      runtimeName = "hermes" // from PyPI
)

// npmPackage is a package of one version, in a directory of its own.
type npmPackage struct{ name, version string }

// The versions that sessctl's adapters were written for. Node is pinned too:
// openclaw refuses to run on most others, and the newer one on this one.
func nodePackage(name runtimeName) npmPackage {
	version := "24.15.0"
	if name == runtimeOpenClaw9 {
		version = "26.10.0"
	}
	system := map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win"}[runtime.GOOS]
	machine := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	return npmPackage{"node-" + system + "-" + machine, version}
}

func packages() map[runtimeName]npmPackage {
	return map[runtimeName]npmPackage{
		runtimePi:       {"@mariozechner/pi-coding-agent", "0.60.0"},
		runtimePiNewer:  {"@mariozechner/pi-coding-agent", "0.73.1"},
		runtimePiToday:  {"@earendil-works/pi-coding-agent", "1.6.0"},
		runtimeOpenClaw: {"openclaw", "2026.7.1"},

		runtimeOpenClaw9: {"openclaw", "2026.9.6"},

		runtimeClaude:      {"@anthropic-ai/claude-code", "2.1.197"},
		runtimeClaudeNewer: {"@anthropic-ai/claude-code", "2.1.330"},

		runtimeCodex:    {"@openai/codex", "0.169.0"},
		runtimeGemini:   {"@google/gemini-cli", "0.61.0"},
		runtimeOpenCode: {"opencode-ai", "1.18.33"},
		runtimeKilo:     {"@kilocode/cli", "7.7.7"},
		runtimeOMP:      {"@oh-my-pi/pi-coding-agent", "18.2.3"},
		runtimeQwen:     {"@qwen-code/qwen-code", "0.24.4"},
		runtimeCopilot:  {"@github/copilot", "1.0.102"},
		runtimeCline:    {"cline", "3.0.65"},

		runtimeN8N: {"n8n", "1.123.81"}, // no runtime, but what contrib/n8n is for
	}
}

// installed is a runtime that is ready to run, or why it is not.
type installed struct {
	name    string // of its package
	npm     npmPackage
	bin     string // directory of its programs
	node    string // directory of the node to run them with
	problem error
}

// cacheDir is where runtimes stay installed.
func cacheDir() (string, error) {
	if dir := os.Getenv("ACCEPT_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sessctl-accept"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".cache", "sessctl-accept"), err
}

// install makes sure that the runtimes which the scenarios need are in the
// cache.
func install(ctx context.Context, cache string, wanted []scenario, packages map[runtimeName]npmPackage) map[runtimeName]installed {
	all := map[runtimeName]installed{}
	if !slices.ContainsFunc(wanted, func(s scenario) bool { return s.needs != runtimeNone }) {
		return all
	}
	if slices.ContainsFunc(wanted, func(s scenario) bool { return s.needs == runtimeHermes }) {
		bin, err := fetchPip(ctx, cache, "hermes-agent", hermesVersion)
		all[runtimeHermes] = installed{name: "hermes-agent", npm: npmPackage{"hermes-agent", hermesVersion}, bin: bin, problem: err}
	}
	for name, p := range packages {
		if !slices.ContainsFunc(wanted, func(s scenario) bool { return s.needs == name || s.crosses(name) }) {
			continue
		}
		nodeDir, err := fetch(ctx, cache, nodePackage(name), "")
		node, dir := filepath.Join(nodeDir, "node_modules", nodePackage(name).name, "bin"), ""
		if err == nil {
			dir, err = fetch(ctx, cache, p, node)
		}
		all[name] = installed{
			name: p.name, npm: p,
			bin:  filepath.Join(dir, "node_modules", ".bin"),
			node: node, problem: err,
		}
	}
	return all
}

// fetch installs a package unless this version of it is there, and returns
// its directory. Its scripts are run with the node in a directory, "" for any.
func fetch(ctx context.Context, cache string, p npmPackage, node string) (string, error) {
	dir := filepath.Join(cache, strings.ReplaceAll(strings.TrimPrefix(p.name, "@"), "/", "-")+"-"+p.version)
	if p.there(dir) {
		return dir, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%s %s is not in %s, and there is no npm to install it with", p.name, p.version, cache)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	fmt.Printf("installing %s %s into %s\n", p.name, p.version, dir)
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	steps := [][]string{{"install", "--prefix", dir, "--no-audit", "--no-fund", "--loglevel=error", p.name + "@" + p.version}}
	if p.name == "@oh-my-pi/pi-coding-agent" { // it runs on Bun
		steps[0] = append(steps[0], "bun@1.4.5")
	}
	if p.name == "n8n" {
		if steps, err = n8nInstall(dir, p); err != nil {
			return "", err
		}
	}
	for _, step := range steps {
		c := exec.CommandContext(ctx, npm, step...)
		c.Dir, c.Env = dir, append(os.Environ(), "PATH="+strings.Trim(node+string(os.PathListSeparator)+os.Getenv("PATH"), string(os.PathListSeparator)))
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm %s %s@%s: %w: %s", step[0], p.name, p.version, err, lastLines(string(out)))
		}
	}
	if !p.there(dir) {
		return "", fmt.Errorf("npm installed another version of %s than %s", p.name, p.version)
	}
	return dir, nil
}

// there reports whether exactly this version is installed. npm writes a
// package's own description last of its files, so a broken installation has
// none and is done again.
func (p npmPackage) there(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(p.name), "package.json"))
	if err != nil {
		return false
	}
	var description struct {
		Version string `json:"version"`
	}
	return json.Unmarshal(data, &description) == nil && description.Version == p.version
}
