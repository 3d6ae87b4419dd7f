package cmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/spf13/cobra"
)

func newMemoryStoredCommand(a *app) *cobra.Command {
	var agent agentset.Set
	c := &cobra.Command{
		Use:   "stored",
		Short: "List what agents stored in the memory in their own words",
		Long: `List what agents stored with the tool memory_store (docs/agents.md), newest first.
It is what an agent said, not a quotation of a session: nobody has checked it.
"sessctl memory forget --id ID" removes it everywhere.`,
		Example: `  sessctl memory stored
  sessctl memory stored --agent coordinator --json`,
		RunE: func(c *cobra.Command, _ []string) error { return runMemoryStored(c.Context(), a, agent) },
	}
	c.Flags().StringVar((*string)(&agent), "agent", "", "only this `agent` or runtime/agent")
	return c
}

func runMemoryStored(ctx context.Context, a *app, agent agentset.Set) error {
	store, err := recall.ReadMemoryOf(ctx, a.Run, agent)
	if err != nil {
		return err
	}
	defer store.Close()
	list, damaged, err := store.ListOwnWords(ctx, memory.OwnWordsFilter{Runtime: a.Global.Runtime, Agent: agent})
	if err != nil {
		return err
	}
	if damaged > 0 {
		a.Notice(workspace.Note{Message: wording.Plural(damaged, "record") + " damaged and left out", Hint: "sessctl memory verify says more"})
	}
	doc := recall.StoredDocument{Schema: 1, Stored: []recall.StoredRow{}, Notes: a.Notes}
	for _, r := range list {
		doc.Stored = append(doc.Stored, recall.StoredRow{
			ID: r.ID, Category: r.Category, Importance: r.Importance, CreatedAt: audit.NewStoredBy(r).At, Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Text: r.Text,
		})
	}
	if a.JSON {
		return a.printJSON(doc)
	}
	var b strings.Builder
	for _, r := range doc.Stored {
		fmt.Fprintf(&b, "%s  %s  %s  %s  importance %.2f  session %s\n%s\n\n", r.ID[:mcptool.ShownID], wording.Visible(r.Agent), r.CreatedAt, wording.Visible(r.Category), r.Importance,
			wording.Visible(cmp.Or(r.Session, "not known")), recall.Indent(wording.VisibleText(r.Text)))
	}
	if len(doc.Stored) == 0 {
		a.Notice(workspace.Note{Message: "no agent has stored anything", Hint: "the tool memory_store is offered with sessctl mcp --allow-write"})
	}
	_, err = fmt.Fprint(a.Out, b.String())
	return err
}
