//go:build linux && amd64

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// successor is the session that follows one that was rotated away.
type successor struct {
	log  string // its path; "" for none
	text string // what the agent has written there
}

// begins lets the agent begin the session that follows, and go idle. Where that
// is at the same place it is empty.
func (h *Home) begins() (successor, error) {
	path, err := h.freshLog()
	if err != nil || path == "" {
		return successor{log: h.Log()}, errors.Join(err, age(h.Log()))
	}
	if _, err := h.nextTurn(); err != nil {
		return successor{}, err
	}
	text, err := os.ReadFile(path)
	return successor{path, string(text)}, err
}

// wasCarried checks that the session that followed has what it had, and then
// the late lines, once, on the branch that the runtime reads.
func (h *Home) wasCarried(next successor) error {
	data, err := os.ReadFile(next.log)
	if err != nil {
		return err
	}
	late := len(h.layout().late())
	added, ok := strings.CutPrefix(string(data), next.text)
	if !ok || strings.Count(added, "\n") != late || strings.Count(added, "one more thing") != late {
		return fmt.Errorf("a late line is not in the session that followed, once: %.300q", added)
	}
	if h.layout().header == "" {
		return nil
	}
	return onOneBranch(string(data))
}

// onOneBranch checks that the way from the last entry of a log to its root
// passes by every entry.
func onOneBranch(log string) error {
	type entry struct {
		ID     string
		Parent string `json:"parentId"`
	}
	var entries []entry
	for line := range strings.Lines(log) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return fmt.Errorf("%w: %s", err, line)
		}
		entries = append(entries, e)
	}
	leaf := entries[len(entries)-1].ID
	for _, e := range slices.Backward(entries[1:]) {
		if e.ID != leaf {
			return fmt.Errorf("entry %s is not on the branch that ends the log:\n%s", e.ID, log)
		}
		leaf = e.Parent
	}
	return nil
}
