//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// continuings begin a session of another runtime with what is in a log.
func continuings() []Command {
	const how = "continue --cwd $DIR --quiet-period 0s --in "
	return []Command{
		{
			Name: "continue, pi in claude", Runtime: "pi", Args: append(strings.Fields(how+"claude --file"), "$LOG"),
			Prepare: func(h *Home) error { return os.MkdirAll(h.begunIn("claude"), 0o700) },
			Done:    func(h *Home) error { return h.begun("claude", 1) }, Whole: func(h *Home) error { return h.begun("claude", 0) },
		},
		{
			Name: "continue, claude in codex", Runtime: "claude", Args: append(strings.Fields(how+"codex --file"), "$LOG"), Slow: true,
			Prepare: func(h *Home) error { return os.MkdirAll(h.begunIn("codex"), 0o700) },
			Done:    func(h *Home) error { return h.begun("codex", 1) }, Whole: func(h *Home) error { return h.begun("codex", 0) },
		},
		{
			Name: "continue, claude in pi", Runtime: "claude", Args: append(strings.Fields(how+"pi --file"), "$LOG"), Slow: true,
			Prepare: func(h *Home) error { return os.MkdirAll(h.begunIn("pi"), 0o700) },
			Done:    func(h *Home) error { return h.begun("pi", 1) }, Whole: func(h *Home) error { return h.begun("pi", 0) },
		},
		{
			Name: "continue, pi in qwen", Runtime: "pi", Args: append(strings.Fields(how+"qwen --file"), "$LOG"), Slow: true,
			Prepare: func(h *Home) error { return os.MkdirAll(h.begunIn("qwen"), 0o700) },
			Done:    func(h *Home) error { return h.begun("qwen", 1) }, Whole: func(h *Home) error { return h.begun("qwen", 0) },
		},
		{
			Name: "continue, pi in gemini", Runtime: "pi", Args: append(strings.Fields(how+"gemini --file"), "$LOG"), Slow: true,
			Prepare: func(h *Home) error { return os.MkdirAll(h.begunIn("gemini"), 0o700) },
			Done:    func(h *Home) error { return h.begun("gemini", 1) }, Whole: func(h *Home) error { return h.begun("gemini", 0) },
		},
		{
			Name: "continue, pi in opencode", Runtime: "pi", Args: append(strings.Fields(how+"opencode --file"), "$LOG"), Slow: true,
			Prepare: withRows, Done: func(h *Home) error { return h.begunRows(1) }, Whole: func(h *Home) error { return h.begunRows(0) },
		},
	}
}

// begunRows checks that all rows of before are there, and of the new session all or none.
func (h *Home) begunRows(least int) error {
	now, err := rows(h.database())
	before, readErr := rows(h.original())
	if err = errors.Join(err, readErr); err != nil {
		return err
	}
	sessions, notes, more := 0, 0, len(now)-len(before)
	for _, row := range now {
		sessions += strings.Count(row, "|from pi: ")
		notes += strings.Count(row, "Carried over by sessctl")
	}
	for _, row := range before {
		if !slices.Contains(now, row) {
			return fmt.Errorf("a row of before is gone: %.100s", row)
		}
	}
	if sessions < least || sessions != notes || more > 0 && sessions == 0 {
		return fmt.Errorf("%d new sessions with %d notes and %d rows, not %d", sessions, notes, more, least)
	}
	return h.logIs(h.source())
}

// begunIn is the directory of a runtime's sessions.
func (h *Home) begunIn(runtime string) string {
	return filepath.Join(h.Dir, "home", map[string]string{"claude": ".claude/projects", "codex": ".codex/sessions", "pi": ".pi/agent/sessions", "qwen": ".qwen/projects", "gemini": ".gemini/tmp"}[runtime])
}

// begun checks that there are at least so many new logs, that each is whole, as the
// last message shows, and that the source is as it was.
func (h *Home) begun(runtime string, least int) error {
	logs := 0
	err := filepath.WalkDir(h.begunIn(runtime), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		logs++
		if !strings.Contains(string(text), "Carried over by sessctl") || !strings.HasSuffix(string(text), "}\n") {
			return fmt.Errorf("%s is not whole: %d bytes", path, len(text))
		}
		return nil
	})
	if err == nil && logs < least {
		err = fmt.Errorf("%d new logs, not %d", logs, least)
	}
	if err != nil {
		return err
	}
	return h.logIs(h.source())
}
