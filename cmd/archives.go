package cmd

import (
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/spf13/cobra"
)

// newArchivesCommand groups what is done with archives; archive makes them.
func newArchivesCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "archives",
		Short: "List, show, verify and prune archives; copy them to object storage",
		Example: `  sessctl archives list
  sessctl archives show 3f9a2c --lines 120-140
  sessctl archives verify`,
	}
	c.AddCommand(newArchiveListCommand(a), newArchiveShowCommand(a), newArchiveVerifyCommand(a),
		newArchivePruneCommand(a), newArchiveUploadCommand(a), newArchivePullCommand(a), newArchiveAdoptCommand(a))
	return c
}

func newArchiveListCommand(a *app) *cobra.Command {
	var agent agentset.Set
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the archives",
		Example: "  sessctl archives list --agent coordinator",
		RunE: func(c *cobra.Command, _ []string) error {
			store, err := a.OpenArchive()
			if err != nil {
				return err
			}
			entries, err := store.List(c.Context(), archive.Filter{Agent: agent, Runtime: a.Global.Runtime})
			if err == nil && len(entries) == 0 {
				err = selection.CheckAgent(c.Context(), a.Run, nil, agent)
			}
			if err != nil {
				return err
			}
			doc := steps.ArchiveDocument{Schema: 1, Archives: []selection.ArchiveRow{}}
			for _, e := range entries {
				doc.Archives = append(doc.Archives, steps.NewArchiveRow(e))
			}
			return renderArchives(c.Context(), a, doc)
		},
	}
	c.Flags().StringVar((*string)(&agent), "agent", "", "only archives of this `agent` or runtime/agent")
	return c
}
