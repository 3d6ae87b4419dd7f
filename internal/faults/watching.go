//go:build linux && amd64

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// watching is a look that has something to tell: a session over the threshold.
// What sizes remembers of logs is not kept, because nothing depends on it.
func watching() []Command {
	return []Command{{
		Name: "monitor", Runtime: "openclaw", Args: []string{"monitor", "--threshold", "1"},
		Env: []string{"XDG_CACHE_HOME=/dev/null/none", "SESSCTL_MONITOR_DISK_LIMIT=0"}, Done: toldOnce,
	}}
}

// toldOnce checks that the outbox has one event of the session, and that the
// state of the monitor does not wait to put one. What else there was to tell, of
// a store that had gone say, is told too.
func toldOnce(h *Home) error {
	events, err := filepath.Glob(filepath.Join(h.Data(), "outbox", "*.json"))
	done, doneErr := filepath.Glob(filepath.Join(h.Data(), "outbox", "*", "*.json"))
	if err := errors.Join(err, doneErr); err != nil {
		return err
	}
	told := 0
	for _, path := range append(events, done...) {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "session.needs_compaction") {
			told++
		}
	}
	if told != 1 {
		return fmt.Errorf("%d events of the session, want 1: %v", told, append(events, done...))
	}
	text, err := os.ReadFile(filepath.Join(h.Data(), "monitor.json"))
	if err != nil {
		return err
	}
	var state struct {
		Ready []any `json:"ready"`
	}
	if err := json.Unmarshal(text, &state); err != nil || len(state.Ready) > 0 {
		return fmt.Errorf("%d events wait in the state (%v)", len(state.Ready), err)
	}
	return nil
}
