package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
)

// ExportOptions say what Export hands out.
type ExportOptions struct {
	Query          // its filters; Text, Limit and the rest are ignored
	Vectors bool   // with vectors
	Work    bool   // also what was done: records of the category work
	Model   string // whose: fingerprint or name; the one with the most vectors if empty
}

// Exported is a record and its vector of unit length, or nil if it has none or
// its vector is lost or damaged.
type Exported struct {
	Record
	Fact   *Fact     // what it says as a fact, its Record included; nil for other records
	Vector []float32 // valid until the function that got it returns
}

// exportPage is how many records are held at a time.
const exportPage = 512

// Export hands out pages of the records that pass the filters, in the order
// they were stored, as they are at one moment, then those of the work, and returns how many it left out
// because they are not what was stored. An error of fn ends it. ErrOtherModel is
// returned when memory has no vectors of the model asked for.
func (s exporting) Export(ctx context.Context, o ExportOptions, fn func(page []Exported) error) (damaged int, err error) {
	err = s.asOfNow(ctx, func(view *connection) (err error) {
		damaged, err = exporting{view}.export(ctx, o, fn)
		return err
	})
	return damaged, err
}

func (s exporting) export(ctx context.Context, o ExportOptions, fn func(page []Exported) error) (damaged int, err error) {
	model, err := s.exportModel(ctx, o)
	if err != nil {
		return 0, err
	}
	said, stated, err := s.factColumns(ctx)
	if err != nil {
		return 0, err
	}
	condition, args := o.filter()
	rows, err := s.reads().QueryContext(ctx, `SELECT r.rowid, coalesce(v.block, -1), coalesce(v.crc & 4294967295, 0), `+said+", "+recordColumns+`
		FROM records r JOIN texts t ON t.record=r.rowid `+joinedVectors+" "+stated+" WHERE "+condition+" ORDER BY r.rowid", append([]any{model.fingerprint}, args...)...)
	if err != nil {
		return 0, fmt.Errorf("read records: %w", database.Classify(err))
	}
	defer rows.Close()
	x := &export{store: s.connection, reader: vectors.NewReader(s.reads(), model.dim), dim: model.dim, fn: fn}
	for rows.Next() {
		if err := x.scan(rows); err != nil {
			return 0, err
		}
		if len(x.page) == exportPage {
			if err := x.flush(ctx); err != nil {
				return 0, err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return 0, fmt.Errorf("read records: %w", database.Classify(err))
	}
	if err := x.flush(ctx); err != nil {
		return x.damaged, err
	}
	err = x.work(ctx, o)
	return x.damaged, err
}

// work hands out what was done.
func (x *export) work(ctx context.Context, o ExportOptions) error {
	has, err := hasActions(ctx, x.store.reads())
	if err != nil || !has || !o.Work || o.Category != "" && o.Category != CategoryWork {
		return err
	}
	condition, args := o.workFilter()
	err = eachAction(ctx, x.store.reads(), condition, args, func(a *storedAction) error {
		if !a.sound() {
			x.damaged++
			return nil
		}
		if x.page = append(x.page, Exported{Record: a.Record}); len(x.page) < exportPage {
			return nil
		}
		return x.flush(ctx)
	})
	if err != nil {
		return err
	}
	return x.flush(ctx)
}

// joinedVectors joins the vectors v of a model to records r, and the files that
// they are in. It does not name the view: SQLite would make a table of all of it.
const joinedVectors = "LEFT JOIN vector_rows v ON v.record=r.rowid AND v.space IN (SELECT space FROM vector_spaces WHERE model=?)"

// factColumns are the columns of facts, and the tables to read them from. A
// memory that never had a fact has no such table.
func (s exporting) factColumns(ctx context.Context) (columns, table string, err error) {
	has, err := s.hasFacts(ctx)
	if err != nil || !has {
		return "'', 0.0, '', '', '', '', '', '', ''", "", err
	}
	columns = `coalesce(f.kind, ''), coalesce(f.confidence, 0.0), coalesce(f.quote, ''), coalesce(f.speaker, ''), coalesce(f.topic, ''),
		coalesce(f.value, ''), coalesce(f.instead, ''), coalesce(f.made_by, ''), coalesce(iif(` + live + `, '', f.successor), '')`
	return columns, "LEFT JOIN facts f ON f.record=r.rowid", nil
}

// ExportDimensions is the length of the vectors that Export hands out, 0 if
// there are none. Errors are those of Export.
func (s exporting) ExportDimensions(ctx context.Context, o ExportOptions) (int, error) {
	model, err := s.exportModel(ctx, o)
	return model.dim, err
}

type exportedModel struct {
	fingerprint string
	dim         int
}

// exportModel finds the model whose vectors are asked for.
func (s exporting) exportModel(ctx context.Context, o ExportOptions) (m exportedModel, err error) {
	if !o.Vectors {
		return m, nil
	}
	err = s.db.QueryRowContext(ctx, `SELECT fingerprint, dim FROM models WHERE ?1='' OR fingerprint=?1 OR name=?1
		ORDER BY (SELECT count(*) FROM vectors v WHERE v.model=fingerprint) DESC, fingerprint LIMIT 1`, o.Model).Scan(&m.fingerprint, &m.dim)
	switch {
	case errors.Is(err, sql.ErrNoRows) && o.Model == "":
		return m, nil
	case errors.Is(err, sql.ErrNoRows):
		return m, fmt.Errorf("%w than %s", ErrOtherModel, o.Model)
	case err != nil:
		return m, fmt.Errorf("look for the model: %w", database.Classify(err))
	}
	return m, nil
}

// export gathers pages.
type export struct {
	store  *connection
	reader *vectors.Reader
	dim    int
	page   []Exported
	places []vectors.Place // of the page's vectors; Index is that in the page
	fn     func(page []Exported) error

	damaged int // records that were left out
}

func (x *export) scan(rows *sql.Rows) error {
	var e Exported
	var f Fact
	var read stored
	p := vectors.Place{Index: len(x.page)}
	if err := rows.Scan(append([]any{&p.Record, &p.Block, &p.Sum, &f.Kind, &f.Confidence, &f.Quote, &f.Speaker, &f.Topic, &f.Value, &f.Instead, &f.MadeBy, &f.Successor}, read.fields()...)...); err != nil {
		return fmt.Errorf("read records: %w", database.Classify(err))
	}
	if !read.sound() {
		x.damaged++
		return nil
	}
	e.Record = read.Record
	if f.Kind != "" {
		f.Record = e.Record
		e.Fact = &f
	}
	if p.Block >= 0 {
		x.places = append(x.places, p)
	}
	x.page = append(x.page, e)
	return nil
}

// flush reads the vectors of a page and hands it out.
func (x *export) flush(ctx context.Context) error {
	if len(x.page) == 0 {
		return nil
	}
	all := make([]float32, len(x.page)*x.dim)
	err := x.reader.Each(ctx, x.places, func(p vectors.Place, vector []float32) {
		x.page[p.Index].Vector = append(all[p.Index*x.dim:][:0:x.dim], vector...)
	})
	if err == nil {
		err = x.fn(x.page)
	}
	x.page, x.places = x.page[:0], x.places[:0]
	return err
}
