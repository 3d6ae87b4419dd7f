package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/memory"
)

func newMemoryVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check the memory's database and every vector in it",
		Long: `Check the pages and indexes of the database, that every record has its text, its
words and a vector or a place in the queue for one, and the checksum of every
vector. Exit code 4 means that something is damaged or missing.`,
		Example: "  sessctl memory verify",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return runMemoryVerify(c.Context(), a) },
	}
}

// memoryVerifyDocument is `memory verify --json`.
type memoryVerifyDocument struct {
	Schema   int       `json:"schema"`
	Path     string    `json:"path"`
	Records  int       `json:"records"`
	Vectors  int       `json:"vectors"`
	Problems []problem `json:"problems"`
}

func runMemoryVerify(ctx context.Context, a *app) error {
	doc := memoryVerifyDocument{Schema: 1, Path: a.memoryDir(), Problems: []problem{}}
	err := verifyMemory(ctx, a, &doc)
	if errors.Is(err, memory.ErrCorrupt) {
		doc.Problems = append(doc.Problems, problem{Path: a.memoryDir(), Message: err.Error()})
	} else if err != nil {
		return err
	}
	if err := renderMemoryVerify(a, doc); err != nil {
		return err
	}
	if len(doc.Problems) > 0 {
		return &outcomeError{exit: exitIntegrity}
	}
	return nil
}

func verifyMemory(ctx context.Context, a *app, doc *memoryVerifyDocument) error {
	store, err := a.readMemory(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	found, err := store.Verify(ctx)
	if err != nil {
		return fmt.Errorf("verify memory: %w", err)
	}
	for _, p := range found {
		doc.Problems = append(doc.Problems, problem{Path: p.Path, Message: p.Message})
	}
	if len(found) > 0 {
		return nil // what cannot be trusted is not counted
	}
	stats, err := store.Stats(ctx)
	if err != nil {
		return err
	}
	for _, s := range stats.Agents {
		doc.Records += s.Records
	}
	for _, m := range stats.Models {
		doc.Vectors += m.Vectors
	}
	return nil
}

func renderMemoryVerify(a *app, doc memoryVerifyDocument) error {
	if a.global.JSON {
		return a.printJSON(doc)
	}
	for _, p := range doc.Problems {
		_, _ = fmt.Fprintf(a.Out, "damaged\t%s\t%s\n", visible(p.Path), visible(p.Message))
	}
	if len(doc.Problems) > 0 {
		a.hint("lost vectors: sessctl memory reindex --pending; a damaged database: sessctl memory reindex --from-archives")
		_, err := fmt.Fprintf(a.Out, "%s\n", plural(len(doc.Problems), "problem"))
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s and %s checked, 0 problems\n", plural(doc.Records, "record"), plural(doc.Vectors, "vector"))
	return err
}
