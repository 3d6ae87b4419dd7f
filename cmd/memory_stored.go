package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/memory"
)

// storedBy marks what an agent stored in its own words (memory_store): no log
// has it, so there are no lines to read.
type storedBy struct {
	By string `json:"by"` // the agent
	At string `json:"at"` // RFC 3339, UTC
}

func newStoredBy(r memory.Record) *storedBy {
	if !r.OwnWords() {
		return nil
	}
	return &storedBy{By: r.Agent, At: time.UnixMilli(r.CreatedAt).UTC().Format(time.RFC3339)}
}

// rank is what own words have less than a quotation that fits as well.
func (s *storedBy) rank() int {
	if s == nil {
		return 0
	}
	return 1
}

// line says what the text is, where a quotation has its lines.
func (s *storedBy) line() string {
	return fmt.Sprintf("stored by agent %s at %s: its own words, not a quotation", visible(s.By), s.At)
}

func newMemoryStoredCommand(a *app) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use:   "stored",
		Short: "List what agents stored in the memory in their own words",
		Long: `List what agents stored with the tool memory_store (docs/agents.md), newest first.
It is what an agent said, not a quotation of a session: nobody has checked it.
"sessctl memory forget --id ID" removes it everywhere.
` + exitHelp,
		Example: `  sessctl memory stored
  sessctl memory stored --agent coordinator --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runMemoryStored(c.Context(), a, agent) },
	}
	c.Flags().StringVar(&agent, "agent", "", "only this `agent`")
	return c
}

// storedDocument is `memory stored --json`.
type storedDocument struct {
	Schema int         `json:"schema"`
	Stored []storedRow `json:"stored"`
	Notes  []note      `json:"notes"`
}

type storedRow struct {
	ID         string  `json:"id"`
	Category   string  `json:"category"`
	Importance float64 `json:"importance"`
	CreatedAt  string  `json:"created_at"`
	Runtime    string  `json:"runtime"`
	Agent      string  `json:"agent"`
	Session    string  `json:"session"`
	Text       string  `json:"text"`
}

func runMemoryStored(ctx context.Context, a *app, agent string) error {
	store, err := a.readMemoryOf(ctx, agent)
	if err != nil {
		return err
	}
	defer store.Close()
	list, damaged, err := store.ListOwnWords(ctx, memory.OwnWordsFilter{Runtime: a.global.Runtime, Agent: agent})
	if err != nil {
		return err
	}
	if damaged > 0 {
		a.notice(note{Message: plural(damaged, "record") + " damaged and left out", Hint: "sessctl memory verify says more"})
	}
	doc := storedDocument{Schema: 1, Stored: []storedRow{}, Notes: a.notes}
	for _, r := range list {
		doc.Stored = append(doc.Stored, storedRow{
			ID: r.ID, Category: r.Category, Importance: r.Importance, CreatedAt: newStoredBy(r).At, Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Text: r.Text,
		})
	}
	if a.JSON {
		return a.printJSON(doc)
	}
	var b strings.Builder
	for _, r := range doc.Stored {
		fmt.Fprintf(&b, "%s  %s  %s  %s  importance %.2f  session %s\n%s\n\n", r.ID[:shownID], visible(r.Agent), r.CreatedAt, visible(r.Category), r.Importance,
			visible(cmp.Or(r.Session, "not known")), indent(visibleText(r.Text)))
	}
	if len(doc.Stored) == 0 {
		a.notice(note{Message: "no agent has stored anything", Hint: "the tool memory_store is offered with sessctl mcp --allow-write"})
	}
	_, err = fmt.Fprint(a.Out, b.String())
	return err
}
