//go:build linux && amd64

package faults

import (
	"encoding/json"
	"fmt"
	"strings"
)

// extractions remember what people said. The session is only read.
func extractions() []Command {
	return []Command{{
		Name: "extract-facts", Runtime: "openclaw", Args: []string{"extract-facts", "--agent", "a"},
		Prepare: introduced, Done: factsKnown, Settled: factsKnown,
	}}
}

// introduced is a home in whose session somebody says who they are.
func introduced(h *Home) error {
	line := h.layout().message(24, "My name is Ana Lindqvist. I prefer tabs over spaces, and my email is ana@northwind.example.")
	return writeAged(h.Log(), h.source()+line+"\n")
}

// factsKnown checks that memory has the three facts once each.
func factsKnown(h *Home) error {
	code, out, err := h.Run("extract-facts", "--list", "--json")
	if err != nil || code != 0 {
		return fmt.Errorf("extract-facts --list: exit %d, %v: %s", code, err, out)
	}
	var doc struct {
		Facts []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return fmt.Errorf("extract-facts --list: %w", err)
	}
	var texts []string
	for _, f := range doc.Facts {
		texts = append(texts, f.Text)
	}
	if len(texts) != 3 {
		return fmt.Errorf("memory has the facts %q, want 3", strings.Join(texts, " "))
	}
	return nil
}
