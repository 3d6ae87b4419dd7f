//go:build linux && amd64

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// storings are what an agent stores through the server of MCP.
func storings() []Command {
	return []Command{{
		Name: "mcp, memory_store", Runtime: "openclaw", Args: []string{"mcp", "--allow-write", "--lock-wait", "100ms"}, Prepare: compacted,
		Input: strings.Join([]string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_store","arguments":{"agent":"a","category":"lesson","text":"Calibrate the warehouse scale first, or all weights are off."}}}`,
		}, "\n") + "\n",
		Answered: func(output string) bool {
			return strings.Contains(output, "stored as ") && strings.Contains(output, "its own words")
		},
		Done: ownWordsFound, Settled: ownWordsOutlive, Refusals: []string{"another sessctl"},
	}}
}

// ownWordsFound checks that memory has what was stored once, marked.
func ownWordsFound(h *Home) error {
	code, out, err := h.Run("recall", "--json", "--category", "lesson", "calibrate the warehouse scale")
	if err != nil || code != 0 {
		return fmt.Errorf("recall: exit %d, %v: %s", code, err, out)
	}
	var doc struct {
		Hits []struct{ Stored *struct{ By string } }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	if len(doc.Hits) != 1 || doc.Hits[0].Stored == nil || doc.Hits[0].Stored.By != "a" {
		return fmt.Errorf("memory has the lesson as %s", out)
	}
	return nil
}

// ownWordsOutlive checks that a memory that is made again has it too.
func ownWordsOutlive(h *Home) error {
	if err := os.RemoveAll(filepath.Join(h.Data(), "memory")); err != nil {
		return err
	}
	return errors.Join(h.must([]int{0}, "memory", "reindex", "--from-archives"), ownWordsFound(h), h.must([]int{0}, "memory", "verify"))
}

// registrations write into a runtime's own settings.
func registrations() []Command {
	return []Command{
		{
			Name: "hook install", Runtime: "claude", Args: []string{"hook", "install", "claude", "--lock-wait", "100ms"},
			Prepare: notRegistered, Done: settingsAre(1), Whole: settingsAreWhole, Settled: settingsComeBack,
		},
		{
			Name: "hook remove", Runtime: "claude", Args: []string{"hook", "remove", "claude", "--lock-wait", "100ms"},
			Prepare: isRegistered, Done: settingsAre(1), Whole: settingsAreWhole,
		},
	}
}

// settingsFiles are what hook install writes for Claude Code.
func settingsFiles() []string {
	return []string{".claude/settings.json", ".claude.json", ".claude/commands/recall.md"}
}

const (
	ownSettings = "{\n  // what a person wrote\n  \"model\": \"opus\",\n  \"hooks\": {\"Stop\": []},\n}\n"
	ownServers  = "{\"numStartups\": 7, \"mcpServers\": {\"other\": {\"command\": \"x\", \"args\": []}}}"
)

// notRegistered is a home with settings of a person; isRegistered one in which
// sessctl is registered beside them. Both know the texts before and after.
func notRegistered(h *Home) error {
	if err := h.learnSettings(); err != nil {
		return err
	}
	return settingsAre(0)(h)
}

func isRegistered(h *Home) error {
	if err := errors.Join(h.learnSettings(), h.must([]int{0}, "hook", "install", "claude")); err != nil {
		return err
	}
	for name, t := range h.texts {
		h.texts[name] = [2]string{t[1], t[0]}
	}
	return settingsAre(0)(h)
}

func (h *Home) learnSettings() error {
	for name, text := range map[string]string{settingsFiles()[0]: ownSettings, settingsFiles()[1]: ownServers} {
		if err := writeAged(filepath.Join(h.Dir, "home", name), text); err != nil {
			return err
		}
	}
	h.texts = map[string][2]string{}
	before, err := h.settings()
	if err != nil {
		return err
	}
	if err := h.must([]int{0}, "hook", "install", "claude"); err != nil {
		return err
	}
	after, err := h.settings()
	if err != nil {
		return err
	}
	for name, text := range before {
		h.texts[name] = [2]string{text, after[name]}
	}
	return h.must([]int{0}, "hook", "remove", "claude")
}

// settings are the texts of the files.
func (h *Home) settings() (map[string]string, error) {
	texts := map[string]string{}
	for _, name := range settingsFiles() {
		text, err := os.ReadFile(filepath.Join(h.Dir, "home", name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		texts[name] = string(text)
	}
	return texts, nil
}

// settingsAre checks that all files are as before (0) or after (1) the command.
func settingsAre(which int) func(*Home) error {
	return func(h *Home) error {
		now, err := h.settings()
		for name, t := range h.texts {
			if now[name] != t[which] {
				err = errors.Join(err, fmt.Errorf("%s is not what it should be: %q", name, now[name]))
			}
		}
		return err
	}
}

// settingsAreWhole checks that each file is one or the other: never a part of it,
// and never lost.
func settingsAreWhole(h *Home) error {
	now, err := h.settings()
	for name, t := range h.texts {
		if now[name] != t[0] && now[name] != t[1] {
			err = errors.Join(err, fmt.Errorf("%s is torn or lost: %q", name, now[name]))
		}
	}
	return err
}

// settingsComeBack checks that remove makes the files what they were, byte for
// byte, and that nothing of ours is left.
func settingsComeBack(h *Home) error {
	if err := errors.Join(h.must([]int{0}, "hook", "remove", "claude"), settingsAre(0)(h)); err != nil {
		return err
	}
	for _, path := range []string{filepath.Join(h.Dir, "home", ".claude", "commands"), filepath.Join(h.Data(), "hooks")} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is left (%v)", path, err)
		}
	}
	return nil
}
