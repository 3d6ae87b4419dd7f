//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// withdrawings are undos of a compaction that has remembered the archive of an
// earlier run with another limit for the output of tools: what it alone has made
// goes in a second step, after the rest.
func withdrawings() []Command {
	return []Command{{
		Name: "undo, other limits", Runtime: "pi", Args: strings.Fields("undo $RECEIPT --quiet-period 0s"),
		Prepare: rememberedShorter, Sessions: true, Slow: true,
		Done:     func(h *Home) error { return errors.Join(undone(h), h.remembersAsBefore()) },
		Whole:    (*Home).remembersAtLeastBefore,
		Settled:  (*Home).remembersAsBefore,
		Refusals: []string{"not undone: session"},
	}}
}

// rememberedShorter is a home whose session was remembered with little of what its
// tools printed, and then compacted and remembered with all of it.
func rememberedShorter(h *Home) error {
	for i, line := range h.Lines[:len(h.Lines)-1] { // the last one ends the turn
		h.Lines[i] = strings.Replace(line, `"role":"assistant"`, `"role":"toolResult","toolCallId":"c","toolName":"bash"`, 1)
	}
	shorter := *h
	shorter.Command.Env = append(slices.Clone(h.Command.Env), "SESSCTL_MEMORY_OUTPUT_LIMIT=40")
	err := errors.Join(writeAged(h.Log(), h.source()), shorter.must([]int{0}, "archive", "--all", "--remember"))
	if err != nil {
		return err
	}
	if h.before, err = h.remembered(); err != nil {
		return err
	}
	if err := h.must([]int{0}, strings.Fields("compact --runtime pi --agent work-a --force --strategy rotate")...); err != nil {
		return err
	}
	if h.remembersAsBefore() == nil {
		return errors.New("the compaction has made nothing that the earlier run had not: an undo has nothing to withdraw")
	}
	return nil
}

// remembered is what memory has, in order.
func (h *Home) remembered() ([]string, error) {
	code, out, err := h.Run("memory", "export")
	if err != nil || code != 0 {
		return nil, fmt.Errorf("memory export: exit %d, %v: %s", code, err, out)
	}
	records := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(records)
	return records, nil
}

// remembersAsBefore checks that memory has what it had before the compaction, and
// nothing else.
func (h *Home) remembersAsBefore() error { return h.compareRemembered(false) }

// remembersAtLeastBefore checks that memory lacks nothing that it had then.
func (h *Home) remembersAtLeastBefore() error { return h.compareRemembered(true) }

func (h *Home) compareRemembered(more bool) error {
	now, err := h.remembered()
	if err != nil {
		return err
	}
	for _, record := range h.before {
		if !slices.Contains(now, record) {
			return fmt.Errorf("memory lacks what it had before the compaction: %.300s", record)
		}
	}
	for _, record := range now {
		if !more && !slices.Contains(h.before, record) {
			return fmt.Errorf("memory has what the undone compaction alone has made: %.300s", record)
		}
	}
	return nil
}
