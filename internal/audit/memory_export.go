package audit

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

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/arrowfile"
	"github.com/sessctl/sessctl/pkg/memory"
)

// ExportOptions are the options of memory export.
type ExportOptions struct {
	Agent    agentset.Set
	Session  string
	Category string
	Format   string
	Output   string
	Model    string
	Vectors  bool
	Force    bool
}

// MemoryExportDocument is `memory export --json --output FILE`.
type MemoryExportDocument struct {
	Schema         int    `json:"schema"`
	Path           string `json:"path"`
	Format         string `json:"format"`
	Records        int    `json:"records"`
	WithoutVectors int    `json:"without_vectors"` // 0 if none were asked for
	Damaged        int    `json:"damaged"`         // left out: they are not what was stored
}

// TellDamaged says that records were left out.
func (x *Exporter) TellDamaged(run *workspace.Run) error {
	if x.Damaged == 0 {
		return nil
	}
	run.Notice(workspace.Note{Message: wording.Plural(x.Damaged, "record") + " damaged and left out", Hint: "sessctl memory verify says more"})
	return &failure.Outcome{Exit: failure.ExitIntegrity}
}

// ExplainExport adds what a person can do about it.
func ExplainExport(o ExportOptions, err error) error {
	switch {
	case errors.Is(err, fs.ErrExist):
		return &failure.Error{Code: "exists", Exit: failure.ExitFailed, Path: o.Output, Hint: "name another file, or replace it with --force", Err: fmt.Errorf("%s exists already", o.Output)}
	case errors.Is(err, fs.ErrNotExist) && o.Output != "" && !workspace.Exists(filepath.Dir(workspace.Absolute(o.Output))):
		return &failure.Error{Code: "no_directory", Exit: failure.ExitFailed, Path: o.Output, Hint: "make the directory first", Err: fmt.Errorf("export the memory: %w", err)}
	case errors.Is(err, memory.ErrOtherModel):
		return &failure.Error{Code: "unknown_model", Exit: failure.ExitUsage, Hint: "sessctl memory stats names the models", Err: err}
	case err != nil:
		return fmt.Errorf("export the memory: %w", err)
	}
	return nil
}

// Exporter writes the records of a memory.
type Exporter struct {
	Store   *memory.Store
	Options memory.ExportOptions
	Records int
	Bare    int // without a vector, if vectors were asked for
	Damaged int // left out
}

// each hands out pages and counts their records.
func (x *Exporter) each(ctx context.Context, fn func([]memory.Exported) error) (err error) {
	x.Damaged, err = x.Store.Export(ctx, x.Options, func(page []memory.Exported) error {
		for _, e := range page {
			x.Records++
			if x.Options.Vectors && e.Vector == nil && e.Action == nil {
				x.Bare++
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
	Stored *StoredBy     `json:"stored,omitempty"` // of what an agent stored in its own words
	Work   *WorkAction   `json:"work,omitempty"`   // of the category work; text is the same
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

// Lines writes JSON Lines.
func (x *Exporter) Lines(ctx context.Context, out io.Writer) error {
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
	_, err := v.w.Write(wording.VisibleJSON(document))
	return len(document), err
}

func newExportedRecord(e memory.Exported) exportedRecord {
	r := exportedRecord{
		ID: e.ID, Text: e.Text, Category: e.Category, Importance: e.Importance,
		CreatedAt: time.UnixMilli(e.CreatedAt).UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		Runtime:   e.Runtime, Agent: e.Agent, Session: e.Session, Key: e.Key, Archive: e.Archive, ArchivePath: e.ArchivePath,
		FirstLine: e.FirstLine, LastLine: e.LastLine, FirstByte: e.FirstByte, EndByte: e.EndByte,
		Branch: e.Branch, Position: e.Position, Vector: e.Vector, Stored: NewStoredBy(e.Record),
	}
	if e.Action != nil {
		work := NewWorkAction(e.Record)
		r.Work, r.Text = &work, e.Action.Subject
	}
	if f := e.Fact; f != nil {
		r.Fact = &exportedFact{Kind: f.Kind, Confidence: Rounded(f.Confidence), Quote: f.Quote, Speaker: f.Speaker, MadeBy: f.MadeBy, SupersededBy: f.Successor}
	}
	return r
}

// Arrow writes an Arrow IPC file with the columns of the LanceDB table
// "memories" (docs/dev/decisions.md D11), in their order.
func (x *Exporter) Arrow(ctx context.Context, out io.Writer) error {
	dim, err := x.Store.ExportDimensions(ctx, x.Options)
	switch {
	case err != nil:
		return err
	case dim == 0:
		return &failure.Error{Code: "no_vectors", Exit: failure.ExitFailed, Hint: "sessctl memory reindex --pending makes them", Err: errors.New("the memory has no vectors yet")}
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
