//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// undos are those of every kind of change that a compaction makes.
func undos() []Command {
	undo := func(compact Command) Command {
		return Command{
			Name: "undo, " + strings.TrimPrefix(compact.Name, "compact, "), Runtime: compact.Runtime,
			Args: strings.Fields("compact --undo $RECEIPT --quiet-period 0s"),
			Prepare: func(h *Home) error {
				if compact.Prepare != nil {
					if err := compact.Prepare(h); err != nil {
						return err
					}
				}
				return errors.Join(withMetadata(h), h.must([]int{0}, compact.Args...))
			},
			Done: undone, Settled: forgot, Sessions: true,
			Refusals: []string{"not undone: session"},
		}
	}
	var all []Command
	for _, compact := range compactions() {
		c := undo(compact)
		if compact.Runtime == "macstats" {
			c.Settled = forgotButLessons
		}
		all = append(all, c)
	}
	return all
}

// restores put logs back where there is none, an empty one, or another one.
func restores() []Command {
	const now = " --quiet-period 0s"
	return []Command{
		{
			Name: "archive restore", Runtime: "openclaw", Args: []string{"archive", "restore", "$ARCHIVE"},
			Prepare: compacted, Sessions: true, Settled: remembers(Chunks),
			Refusals: []string{"is there already: it is newer"},
			Done:     func(h *Home) error { return h.logIs(h.source()) },
		},
		{
			Name: "archive restore, annabelle", Runtime: "annabelle", Args: []string{"archive", "restore", "$ARCHIVE"},
			Prepare: emptied("annabelle", "a"), Sessions: true, Settled: remembers(Chunks),
			Refusals: []string{"is there already: it is newer"},
			Done:     func(h *Home) error { return h.logIs(h.source()) },
		},
		{
			Name: "archive restore, claude", Runtime: "claude", Args: []string{"archive", "restore", "$ARCHIVE"},
			Prepare: purged, Sessions: true,
			Refusals: []string{"is there already: it is newer"},
			Done:     func(h *Home) error { return h.logIs(h.source()) },
		},
		{
			Name: "archive restore, agent", Runtime: "agent", Args: strings.Fields("archive restore $ARCHIVE" + now),
			Prepare: emptied("agent", "agent"), Sessions: true, Settled: remembers(Chunks),
			Refusals: []string{"is there already: it is newer"},
			Done:     undone,
		},
		{
			Name: "archive restore --force", Runtime: "pi", Args: strings.Fields("archive restore $ARCHIVE --force" + now),
			Prepare: grown, Sessions: true,
			Done: func(h *Home) error { return h.logIs(h.layout().header + "\n") },
		},
		{
			Name: "archive restore --force, macstats", Runtime: "macstats", Args: strings.Fields("archive restore $ARCHIVE --force" + now),
			Prepare: shrunk, Sessions: true,
			Done: func(h *Home) error { return h.logIs(h.source()) },
		},
	}
}

// metadataText is what the agent keeps beside its log.
const metadataText = `{"id":"` + agentSession + `", "messageCount": 24, "model":"m"}` + "\n"

// metadata is the path of it, or "".
func (h *Home) metadata() string {
	if h.Command.Runtime != "agent" {
		return ""
	}
	return filepath.Join(h.Sessions(), "metadata.json")
}

func withMetadata(h *Home) error {
	if h.metadata() == "" {
		return nil
	}
	return writeAged(h.metadata(), metadataText)
}

// undone is what exit 0 of compact --undo promises: the log is what it was, and
// what the runtime keeps beside it says so.
func undone(h *Home) error {
	if h.index() != "" {
		index, err := os.ReadFile(h.index())
		if err != nil || !strings.Contains(string(index), Session) {
			return fmt.Errorf("the index does not name the session (%v): %s", err, index)
		}
	}
	if h.metadata() != "" {
		text, err := os.ReadFile(h.metadata())
		if err != nil || string(text) != metadataText {
			return fmt.Errorf("metadata.json is not as it was (%v): %s", err, text)
		}
	}
	return errors.Join(h.logIs(h.source()), h.inArchives(h.Lines))
}

// emptied is a home whose session was compacted into a fresh one and settled.
func emptied(runtime, agent string) func(*Home) error {
	return func(h *Home) error {
		if err := withMetadata(h); err != nil {
			return err
		}
		for range 2 {
			if err := errors.Join(h.dayLater(), h.must([]int{0, 75}, "compact", "--runtime", runtime, "--agent", agent, "--force", "--strategy", "rotate")); err != nil {
				return err
			}
		}
		return h.nothingLeft(true)
	}
}

// purged is a home whose session was archived before its runtime deleted it.
func purged(h *Home) error {
	if err := h.must([]int{0}, "archive", "--runtime", "claude", "--agent", "work-a"); err != nil {
		return err
	}
	return os.Remove(h.Log())
}

// shrunk is a home whose session was archived before somebody cut it short.
func shrunk(h *Home) error {
	if err := h.must([]int{0}, "archive", "--runtime", "macstats", "--agent", "mac-stats"); err != nil {
		return err
	}
	return writeAged(h.Log(), strings.Join(h.Lines[:8], "\n")+"\n")
}

// forgot checks that nothing is left of what was forgotten, once its vectors
// were swept too.
func forgot(h *Home) error {
	if err := h.must([]int{0}, "memory", "reindex"); err != nil {
		return err
	}
	return remembers(0)(h)
}

// forgotButLessons is the same where what was learned stays.
func forgotButLessons(h *Home) error {
	return errors.Join(learned(h), h.recalls(0))
}
