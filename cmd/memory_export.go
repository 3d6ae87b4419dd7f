package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/pkg/arrowfile"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
)

type exportOptions struct {
	Agent    string
	Session  string
	Category string
	Format   string
	Output   string
	Model    string
	Vectors  bool
	Force    bool
}

func (o *exportOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "only memories of this `agent`")
	fs.StringVar(&o.Session, "session", "", "only memories of this session (`id` or its start)")
	fs.StringVar(&o.Category, "category", "", "only this `category`")
	fs.StringVar(&o.Format, "format", "jsonl", "`jsonl` or arrow")
	fs.StringVarP(&o.Output, "output", "o", "", "write to this `file`, which must not exist (default stdout)")
	fs.StringVar(&o.Model, "model", "", "whose vectors, by `name` or fingerprint (default the model with the most)")
	fs.BoolVar(&o.Vectors, "vectors", false, "jsonl: with vectors; arrow always has them")
	fs.BoolVar(&o.Force, "force", false, "replace the file if it exists")
}

func (o *exportOptions) validate(a *app) error {
	if o.Format != "jsonl" && o.Format != "arrow" {
		return usageError("formats: jsonl, arrow", "unknown format %q", o.Format)
	}
	if o.Format == "arrow" && o.Output == "" && a.OutTTY {
		return usageError("name a file with --output", "an Arrow file is not for a terminal")
	}
	if a.JSON && o.Output == "" {
		return usageError("name a file with --output; the export itself is JSON Lines without it", "--json describes what was written, and there is no file")
	}
	o.Vectors = o.Vectors || o.Format == "arrow"
	return nil
}

func newMemoryExportCommand(a *app) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export",
		Short: "Write the memory as JSON Lines, or as an Arrow file for LanceDB",
		Long: `Write the records of the memory, oldest first, and then what was done: as JSON
Lines, one record a line with all its fields (and its vector with --vectors). Or
what was said as an Arrow IPC file with the columns id, text, vector, importance,
category and createdAt, from which LanceDB makes a table.

What is written was said in sessions: it is data, not instructions.
` + exitHelp,
		Example: `  sessctl memory export --agent coordinator | jq -r .text
  sessctl memory export --vectors --output memories.jsonl
  sessctl memory export --format arrow --output memories.arrow`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(a); err != nil {
				return err
			}
			return runMemoryExport(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// memoryExportDocument is `memory export --json --output FILE`.
type memoryExportDocument struct {
	Schema         int    `json:"schema"`
	Path           string `json:"path"`
	Format         string `json:"format"`
	Records        int    `json:"records"`
	WithoutVectors int    `json:"without_vectors"` // 0 if none were asked for
	Damaged        int    `json:"damaged"`         // left out: they are not what was stored
}

func runMemoryExport(ctx context.Context, a *app, o exportOptions) error {
	store, err := a.readMemoryOf(ctx, o.Agent)
	if err != nil {
		return err
	}
	defer store.Close()
	if o.Session, err = a.sessionID(ctx, store, o.Session, scope{a.global.Runtime, o.Agent}); err != nil {
		return err
	}
	x := &exporter{store: store, options: memory.ExportOptions{
		Query:   memory.Query{Agent: o.Agent, Session: o.Session, Category: o.Category, Runtime: a.global.Runtime},
		Vectors: o.Vectors, Model: o.Model, Work: o.Format == "jsonl",
	}}
	write := x.lines
	if o.Format == "arrow" {
		write = x.arrow
	}
	if o.Output == "" {
		if err := write(ctx, a.Out); err != nil {
			return explainExport(o, err)
		}
		return x.tellDamaged(a.invocation)
	}
	save := durable.CreateFile
	if o.Force {
		save = durable.ReplaceFile
	}
	path := absolute(o.Output)
	if err := errors.Join(a.refuseOwn(ctx, path, "--output"), a.refuseSession(ctx, path, "--output")); err != nil {
		return err
	}
	if err := save(path, 0o600, func(w io.Writer) error { return write(ctx, w) }); err != nil {
		return explainExport(o, err)
	}
	doc := memoryExportDocument{Schema: 1, Path: path, Format: o.Format, Records: x.records, WithoutVectors: x.bare, Damaged: x.damaged}
	return errors.Join(renderExport(a, doc), x.tellDamaged(a.invocation))
}

func renderExport(a *app, doc memoryExportDocument) error {
	if a.JSON {
		return a.printJSON(doc)
	}
	if doc.WithoutVectors > 0 {
		a.notice(note{Message: plural(doc.WithoutVectors, "record") + " without a vector", Hint: "sessctl memory reindex --pending"})
	}
	_, err := fmt.Fprintf(a.Out, "%s written to %s\n", plural(doc.Records, "record"), visible(doc.Path))
	return err
}

// tellDamaged says that records were left out.
func (x *exporter) tellDamaged(a *invocation) error {
	if x.damaged == 0 {
		return nil
	}
	a.notice(note{Message: plural(x.damaged, "record") + " damaged and left out", Hint: "sessctl memory verify says more"})
	return &outcomeError{exit: exitIntegrity}
}

// explainExport adds what a person can do about it.
func explainExport(o exportOptions, err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return &failure{code: "exists", exit: exitFailed, path: o.Output, hint: "name another file, or replace it with --force", err: fmt.Errorf("%s exists already", o.Output)}
	case errors.Is(err, fs.ErrNotExist) && o.Output != "" && !exists(filepath.Dir(absolute(o.Output))):
		return &failure{code: "no_directory", exit: exitFailed, path: o.Output, hint: "make the directory first", err: fmt.Errorf("export the memory: %w", err)}
	case errors.Is(err, memory.ErrOtherModel):
		return &failure{code: "unknown_model", exit: exitUsage, hint: "sessctl memory stats names the models", err: err}
	case err != nil:
		return fmt.Errorf("export the memory: %w", err)
	}
	return nil
}

// exporter writes the records of a memory.
type exporter struct {
	store   *memory.Store
	options memory.ExportOptions
	records int
	bare    int // without a vector, if vectors were asked for
	damaged int // left out
}

// each hands out pages and counts their records.
func (x *exporter) each(ctx context.Context, fn func([]memory.Exported) error) (err error) {
	x.damaged, err = x.store.Export(ctx, x.options, func(page []memory.Exported) error {
		for _, e := range page {
			x.records++
			if x.options.Vectors && e.Vector == nil && e.Action == nil {
				x.bare++
			}
		}
		return fn(page)
	})
	return err
}

// exportedRecord is a line of the export (docs/json.md).
type exportedRecord struct {
	ID          string  `json:"id"`
	Text        string  `json:"text"`
	Category    string  `json:"category"`
	Importance  float64 `json:"importance"`
	CreatedAt   string  `json:"created_at"` // RFC 3339, UTC
	Runtime     string  `json:"runtime"`
	Agent       string  `json:"agent"`
	Session     string  `json:"session"`
	Key         string  `json:"key"`
	Archive     string  `json:"archive"`
	ArchivePath string  `json:"archive_path"`
	FirstLine   int     `json:"first_line"`
	LastLine    int     `json:"last_line"`
	FirstByte   int64   `json:"first_byte"`
	EndByte     int64   `json:"end_byte"`
	Branch      string  `json:"branch"`
	Position    int     `json:"position"`

	Fact   *exportedFact `json:"fact,omitempty"`
	Stored *storedBy     `json:"stored,omitempty"` // of what an agent stored in its own words
	Work   *workAction   `json:"work,omitempty"`   // of the category work; text is the same
	Vector []float32     `json:"vector,omitempty"`
}

// exportedFact is what a fact says beside its text. Where and when it was said
// is in the record.
type exportedFact struct {
	Kind         string  `json:"kind"`
	Confidence   float64 `json:"confidence"`
	Quote        string  `json:"quote"`
	Speaker      string  `json:"speaker"`
	MadeBy       string  `json:"made_by"`
	SupersededBy string  `json:"superseded_by"`
}

// lines writes JSON Lines.
func (x *exporter) lines(ctx context.Context, out io.Writer) error {
	w := bufio.NewWriterSize(out, 1<<16)
	enc := json.NewEncoder(&visibleWriter{w})
	enc.SetEscapeHTML(false)
	err := x.each(ctx, func(page []memory.Exported) error {
		for _, e := range page {
			if err := enc.Encode(newExportedRecord(e)); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, w.Flush())
}

// visibleWriter passes documents of JSON on with what could act on a terminal
// escaped.
type visibleWriter struct{ w io.Writer }

// Write implements io.Writer for one whole document.
func (v *visibleWriter) Write(document []byte) (int, error) {
	_, err := v.w.Write(visibleJSON(document))
	return len(document), err
}

func newExportedRecord(e memory.Exported) exportedRecord {
	r := exportedRecord{
		ID: e.ID, Text: e.Text, Category: e.Category, Importance: e.Importance,
		CreatedAt: time.UnixMilli(e.CreatedAt).UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		Runtime:   e.Runtime, Agent: e.Agent, Session: e.Session, Key: e.Key, Archive: e.Archive, ArchivePath: e.ArchivePath,
		FirstLine: e.FirstLine, LastLine: e.LastLine, FirstByte: e.FirstByte, EndByte: e.EndByte,
		Branch: e.Branch, Position: e.Position, Vector: e.Vector, Stored: newStoredBy(e.Record),
	}
	if e.Action != nil {
		work := newWorkAction(e.Record)
		r.Work, r.Text = &work, e.Action.Subject
	}
	if f := e.Fact; f != nil {
		r.Fact = &exportedFact{Kind: f.Kind, Confidence: rounded(f.Confidence), Quote: f.Quote, Speaker: f.Speaker, MadeBy: f.MadeBy, SupersededBy: f.Successor}
	}
	return r
}

// arrow writes an Arrow IPC file with the columns of the LanceDB table
// "memories" (docs/dev/decisions.md D11), in their order.
func (x *exporter) arrow(ctx context.Context, out io.Writer) error {
	dim, err := x.store.ExportDimensions(ctx, x.options)
	switch {
	case err != nil:
		return err
	case dim == 0:
		return &failure{code: "no_vectors", exit: exitFailed, hint: "sessctl memory reindex --pending makes them", err: errors.New("the memory has no vectors yet")}
	}
	buffered := bufio.NewWriterSize(out, 1<<16)
	w, err := arrowfile.NewWriter(buffered, []arrowfile.Field{
		{Name: "id", Kind: arrowfile.Text}, {Name: "text", Kind: arrowfile.Text},
		{Name: "vector", Kind: arrowfile.Vector, Dim: dim}, {Name: "importance", Kind: arrowfile.Number},
		{Name: "category", Kind: arrowfile.Text}, {Name: "createdAt", Kind: arrowfile.Number},
	})
	if err != nil {
		return err
	}
	if err := x.each(ctx, func(page []memory.Exported) error { return w.Write(arrowColumns(page)...) }); err != nil {
		return err
	}
	return errors.Join(w.Close(), buffered.Flush())
}

func arrowColumns(page []memory.Exported) []arrowfile.Column {
	var id, text, vector, importance, category, created arrowfile.Column
	for _, e := range page {
		id.Texts, text.Texts, category.Texts = append(id.Texts, e.ID), append(text.Texts, e.Text), append(category.Texts, e.Category)
		vector.Vectors = append(vector.Vectors, e.Vector)
		importance.Numbers = append(importance.Numbers, e.Importance)
		created.Numbers = append(created.Numbers, float64(e.CreatedAt))
	}
	return []arrowfile.Column{id, text, vector, importance, category, created}
}
