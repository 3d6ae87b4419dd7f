package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/memory"
)

func newMemoryStatsCommand(a *app) *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count what the memory holds",
		Long: `Count the records of every agent, by category, and the vectors of every
embedding model, what waits for a vector, and what was forgotten.`,
		Example: `  sessctl memory stats
  sessctl memory stats --agent coordinator --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runMemoryStats(c.Context(), a, agent) },
	}
	c.Flags().StringVar(&agent, "agent", "", "only this `agent`")
	return c
}

// memoryStatsDocument is `memory stats --json`.
type memoryStatsDocument struct {
	Schema int    `json:"schema"`
	Path   string `json:"path"`
	memory.Stats
}

func runMemoryStats(ctx context.Context, a *app, agent string) error {
	store, err := a.readMemory(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	stats, err := store.Stats(ctx)
	if err != nil {
		return err
	}
	stats.Agents = slices.DeleteFunc(stats.Agents, func(s memory.AgentStats) bool {
		return agent != "" && s.Agent != agent || a.global.Runtime != "" && s.Runtime != a.global.Runtime
	})
	doc := memoryStatsDocument{Schema: 1, Path: a.memoryDir(), Stats: stats}
	if a.global.JSON {
		return a.printJSON(doc)
	}
	return renderMemoryStats(a, doc)
}

func renderMemoryStats(a *app, doc memoryStatsDocument) error {
	var b strings.Builder
	for _, s := range doc.Agents {
		fmt.Fprintf(&b, "%s (%s): %s of %s\n", visible(s.Agent), visible(s.Runtime), plural(s.Records, "record"), plural(s.Sessions, "session"))
		for _, category := range slices.Sorted(maps.Keys(s.Category)) {
			fmt.Fprintf(&b, "  %-17s %s\n", visible(category), formatCount(int64(s.Category[category])))
		}
		for _, model := range slices.Sorted(maps.Keys(s.Pending)) {
			fmt.Fprintf(&b, "  %-17s %s without a vector of %s\n", "pending", formatCount(int64(s.Pending[model])), visible(model))
		}
	}
	for _, m := range doc.Models {
		fmt.Fprintf(&b, "model %s: %s, %s", visible(m.Name), plural(m.Vectors, "vector"), formatBytes(m.Bytes))
		if m.Unnamed > 0 {
			b.WriteString(", " + strconv.Itoa(m.Unnamed) + " unused (sessctl memory reindex takes their room back)")
		}
		b.WriteByte('\n')
	}
	if doc.Forgotten > 0 {
		fmt.Fprintf(&b, "forgotten: %s\n", plural(doc.Forgotten, "record"))
	}
	_, err := fmt.Fprintf(a.Out, "%s%s in %s\n", b.String(), formatBytes(doc.Bytes), visible(doc.Path))
	return err
}
