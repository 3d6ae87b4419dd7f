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

// workings are commands on a session whose agent has called tools: what was done
// is in memory afterwards, each action once.
func workings() []Command {
	working := func(name, args string, done func(*Home) error) Command {
		return Command{
			Name: "work, " + name, Runtime: "pi", Args: strings.Fields(args), Prepare: worked, Sessions: true, Slow: true,
			Done: func(h *Home) error { return errors.Join(done(h), h.knowsWork()) }, Settled: (*Home).knowsWork,
		}
	}
	return []Command{
		working("compact", "compact --runtime pi --force --agent work-a --strategy rotate", rotated),
		working("archive, and remember", "archive --all --remember", archived),
		{
			Name: "work, memory reindex, memory gone", Runtime: "pi", Args: strings.Fields("memory reindex --from-archives"),
			Prepare: workForgotten, Slow: true, Done: (*Home).knowsWork, Settled: (*Home).knowsWork, Refusals: []string{"no memory yet"},
		},
	}
}

// stages is how many files the agent has written, one with each answer but the
// last: after a call the turn goes on.
const stages = 11

// worked lets the answers of the session write a file each.
func worked(h *Home) error {
	n := 0
	for i, line := range h.Lines {
		if n == stages || !strings.Contains(line, `"role":"assistant"`) {
			continue
		}
		call := fmt.Sprintf(`,{"type":"toolCall","id":"call_%d","name":"write","arguments":{"path":"/home/lea/a/stage%02d.txt","content":"x"}}],"usage"`, n, n)
		h.Lines[i] = strings.Replace(line, `],"usage"`, call, 1)
		n++
	}
	if n != stages {
		return fmt.Errorf("the session has %d answers, want %d", n, stages)
	}
	return writeAged(h.Log(), h.source())
}

// workForgotten is a home whose memory is gone and whose archives are there.
func workForgotten(h *Home) error {
	return errors.Join(worked(h), h.must([]int{0}, "archive", "--all", "--remember"), os.RemoveAll(filepath.Join(h.Data(), "memory")))
}

// knowsWork checks that memory has each action once, as recall finds it by its
// file, and none besides.
func (h *Home) knowsWork() error {
	code, out, err := h.Run("recall", "--json", "--limit", "100", "--kind", "work", "stage txt")
	if err != nil || code > 1 {
		return fmt.Errorf("recall --kind work: exit %d, %v: %s", code, err, out)
	}
	var doc struct {
		Work []struct {
			Text  string
			Times int
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return fmt.Errorf("recall --kind work: %w", err)
	}
	times := map[string]int{}
	for _, hit := range doc.Work {
		times[hit.Text] += hit.Times
	}
	for i := range stages {
		file := fmt.Sprintf("/home/lea/a/stage%02d.txt", i)
		if times[file] != 1 {
			return fmt.Errorf("memory has what was done to %s %d times, not once: %v", file, times[file], times)
		}
		delete(times, file)
	}
	if len(times) > 0 {
		return fmt.Errorf("memory has actions that nobody did: %v", times)
	}
	return nil
}
