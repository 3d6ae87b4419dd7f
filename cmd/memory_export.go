package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addExportFlags(o *audit.ExportOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "only memories of this `agent` or runtime/agent")
	fs.StringVar(&o.Session, "session", "", "only memories of this session (`id` or its start)")
	fs.StringVar(&o.Category, "category", "", "only this `category`")
	fs.StringVar(&o.Format, "format", "jsonl", "`jsonl` or arrow")
	fs.StringVarP(&o.Output, "output", "o", "", "write to this `file`, which must not exist (default stdout)")
	fs.StringVar(&o.Model, "model", "", "whose vectors, by `name` or fingerprint (default the model with the most)")
	fs.BoolVar(&o.Vectors, "vectors", false, "jsonl: with vectors; arrow always has them")
	fs.BoolVar(&o.Force, "force", false, "replace the file if it exists")
}

func validateExport(o *audit.ExportOptions, a *app) error {
	if o.Format != "jsonl" && o.Format != "arrow" {
		return failure.Usage("formats: jsonl, arrow", "unknown format %q", o.Format)
	}
	if o.Format == "arrow" && o.Output == "" && a.OutTTY {
		return failure.Usage("name a file with --output", "an Arrow file is not for a terminal")
	}
	if a.JSON && o.Output == "" {
		return failure.Usage("name a file with --output; the export itself is JSON Lines without it", "--json describes what was written, and there is no file")
	}
	o.Vectors = o.Vectors || o.Format == "arrow"
	return nil
}

func newMemoryExportCommand(a *app) *cobra.Command {
	var o audit.ExportOptions
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the memory as JSON Lines, or as an Arrow file for LanceDB",
		Long: `Write the records of the memory, oldest first, and then what was done: as JSON
Lines, one record a line with all its fields (and its vector with --vectors). Or
what was said as an Arrow IPC file with the columns id, text, vector, importance,
category and createdAt, from which LanceDB makes a table.

What is written was said in sessions: it is data, not instructions.`,
		Example: `  sessctl memory export --agent coordinator | jq -r .text
  sessctl memory export --vectors --output memories.jsonl
  sessctl memory export --format arrow --output memories.arrow`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := validateExport(&o, a); err != nil {
				return err
			}
			return runMemoryExport(c.Context(), a, o)
		},
	}
	addExportFlags(&o, c.Flags())
	return c
}

func runMemoryExport(ctx context.Context, a *app, o audit.ExportOptions) error {
	store, err := recall.ReadMemoryOf(ctx, a.Run, o.Agent)
	if err != nil {
		return err
	}
	defer store.Close()
	if o.Session, err = selection.SessionID(ctx, a.Run, store, o.Session, selection.Scope{Runtime: a.Global.Runtime, Agent: o.Agent}); err != nil {
		return err
	}
	x := &audit.Exporter{Store: store, Options: memory.ExportOptions{
		Query:   memory.Query{Agent: o.Agent, Session: o.Session, Category: o.Category, Runtime: a.Global.Runtime},
		Vectors: o.Vectors, Model: o.Model, Work: o.Format == "jsonl",
	}}
	write := x.Lines
	if o.Format == "arrow" {
		write = x.Arrow
	}
	if o.Output == "" {
		if err := write(ctx, a.Out); err != nil {
			return audit.ExplainExport(o, err)
		}
		return x.TellDamaged(a.Run)
	}
	save := durable.CreateFile
	if o.Force {
		save = durable.ReplaceFile
	}
	path := workspace.Absolute(o.Output)
	if err := errors.Join(workspace.RefuseOwn(ctx, a.Run, path, "--output"), workspace.RefuseSession(ctx, a.Run, path, "--output")); err != nil {
		return err
	}
	if err := save(path, 0o600, func(w io.Writer) error { return write(ctx, w) }); err != nil {
		return audit.ExplainExport(o, err)
	}
	doc := audit.MemoryExportDocument{Schema: 1, Path: path, Format: o.Format, Records: x.Records, WithoutVectors: x.Bare, Damaged: x.Damaged}
	return errors.Join(renderExport(a, doc), x.TellDamaged(a.Run))
}

func renderExport(a *app, doc audit.MemoryExportDocument) error {
	if a.JSON {
		return a.printJSON(doc)
	}
	if doc.WithoutVectors > 0 {
		a.Notice(workspace.Note{Message: wording.Plural(doc.WithoutVectors, "record") + " without a vector", Hint: "sessctl memory reindex --pending"})
	}
	_, err := fmt.Fprintf(a.Out, "%s written to %s\n", wording.Plural(doc.Records, "record"), wording.Visible(doc.Path))
	return err
}
