//go:build linux && amd64

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// targets are two that are told of events: one that takes everything, and one
// that is not there.
const targets = `SESSCTL_EVENTS_COMMANDS=[{"name": "takes", "run": ["/bin/true"]}]`

const awayTarget = `SESSCTL_EVENTS_WEBHOOKS=[{"name": "away", "url": "http://127.0.0.1:1/"}]`

// tellings are commands that keep and tell events.
func tellings() []Command {
	env := []string{targets, awayTarget}
	return []Command{
		{
			Name: "compact, told", Runtime: "openclaw", Args: strings.Fields("compact --runtime openclaw --force --agent a"), Env: env,
			Done: func(h *Home) error { return errors.Join(rotated(h), oneEventEach(h)) }, Settled: oneEventEach, Sessions: true,
		},
		{
			Name: "events retry", Runtime: "pi", Args: []string{"events", "retry", "--lock-wait", "100ms"}, Env: []string{targets},
			Prepare: unheard, Done: func(h *Home) error { return eventIs(h, "sent") }, Settled: oneEventEach,
		},
	}
}

// unheard is a home with an event that nobody has taken yet.
func unheard(h *Home) error {
	env := h.Command.Env
	defer func() { h.Command.Env = env }()
	h.Command.Env = []string{strings.Replace(targets, "/bin/true", "/bin/false", 1)}
	return errors.Join(h.must([]int{0}, strings.Fields("compact --runtime pi --force --agent work-a --strategy overlay --keep-recent-tokens 10 --quiet-period 0s")...), eventIs(h, "waiting"))
}

// oneEventEach checks that every receipt has one event, with its own id.
func oneEventEach(h *Home) error {
	told, err := h.events()
	if err != nil {
		return err
	}
	receipts, err := filepath.Glob(filepath.Join(h.Data(), "receipts", "*.json"))
	if err != nil {
		return err
	}
	var ids []string
	for _, path := range receipts {
		ids = append(ids, strings.TrimSuffix(filepath.Base(path), ".json"))
	}
	slices.Sort(ids)
	var known []string
	for _, e := range told {
		known = append(known, e.ID)
	}
	slices.Sort(known)
	if !slices.Equal(ids, known) {
		return fmt.Errorf("the events are %v, the receipts %v", known, ids)
	}
	return nil
}

// eventIs checks the state of the one event there is.
func eventIs(h *Home, state string) error {
	all, err := h.events()
	if err != nil || len(all) != 1 || all[0].State != state {
		return fmt.Errorf("the events are %+v (%v), want one that is %s", all, err, state)
	}
	return nil
}

// keptEvent is an event of `events list --json`.
type keptEvent struct{ ID, Type, State string }

func (h *Home) events() ([]keptEvent, error) {
	code, out, err := h.Run("events", "list", "--limit", "0", "--json")
	if err != nil || code != 0 {
		return nil, fmt.Errorf("events list: exit %d, %v: %s", code, err, out)
	}
	var doc struct{ Events []keptEvent }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return nil, fmt.Errorf("events list: %w", err)
	}
	return doc.Events, nil
}
