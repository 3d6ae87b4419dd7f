//go:build linux && amd64

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// pinnings keep sessions from deletion.
func pinnings() []Command {
	return []Command{{
		Name: "pin", Runtime: "openclaw", Args: []string{"pin", "agent:a:main"}, Prepare: compacted,
		Done: isPinned, Whole: pinsAreWhole, Settled: isPinned, Slow: true,
	}}
}

// isPinned checks that the session of the home is pinned, once.
func isPinned(h *Home) error {
	code, out, err := h.Run("pin", "--json")
	if err != nil || code != 0 {
		return fmt.Errorf("pin --json: exit %d, %v: %s", code, err, out)
	}
	var doc struct {
		Pinned []struct{ Session string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return fmt.Errorf("pin --json: %w", err)
	}
	seen := map[string]bool{}
	for _, p := range doc.Pinned {
		if seen[p.Session] {
			return fmt.Errorf("%s is pinned twice", p.Session)
		}
		seen[p.Session] = true
	}
	if len(seen) == 0 {
		return errors.New("no session is pinned")
	}
	return nil
}

// pinsAreWhole checks that the file of pins is whole, or not there.
func pinsAreWhole(h *Home) error {
	text, err := os.ReadFile(filepath.Join(h.Data(), "pinned.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !json.Valid(text) {
		err = fmt.Errorf("half of pinned.json: %q", text)
	}
	return err
}
