package memory

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
)

// columns are read from records r and texts t.
const columns = "r.id, t.text, r.category, r.importance, r.created_at, r.runtime, r.agent, r.session, r.key, r.archive, r.archive_path, r.first_line, r.last_line, r.first_byte, r.end_byte, r.branch, r.position"

// fields are where columns of r are read to.
func (x *Record) fields() []any {
	return []any{&x.ID, &x.Text, &x.Category, &x.Importance, &x.CreatedAt, &x.Runtime, &x.Agent, &x.Session, &x.Key,
		&x.Archive, &x.ArchivePath, &x.FirstLine, &x.LastLine, &x.FirstByte, &x.EndByte, &x.Branch, &x.Position}
}

// load reads the records of the pool.
func (r *recall) load(ctx context.Context) error {
	if len(r.pool) == 0 {
		return nil
	}
	rows, err := r.store.db.QueryContext(ctx, "SELECT r.rowid, "+columns+" FROM records r JOIN texts t ON t.record=r.rowid WHERE r.rowid IN "+listed(r.pool))
	if err != nil {
		return fmt.Errorf("read records: %w", judged(err))
	}
	defer rows.Close()
	for rows.Next() {
		var rowid int64
		var x Record
		if err := rows.Scan(append([]any{&rowid}, x.fields()...)...); err != nil {
			return fmt.Errorf("read records: %w", judged(err))
		}
		c := r.at(rowid)
		c.Record, c.loaded, c.holds = x, true, holds(x.Text, r.names)
	}
	return judged(rows.Err())
}

// listed are the keys of a map as an SQL list. They are numbers: nothing to
// quote.
func listed[V any](keys map[int64]V) string {
	list := []byte("(")
	for key := range keys {
		list = append(strconv.AppendInt(list, key, 10), ',')
	}
	return string(append(bytes.TrimSuffix(list, []byte(",")), ')'))
}

// complete gives each record of the pool the score of both halves, whichever
// proposed it.
func (r *recall) complete(ctx context.Context) error {
	if len(r.pool) == 0 {
		return nil
	}
	if r.byWords() {
		if err := r.completeText(ctx); err != nil {
			return err
		}
	}
	return r.completeCosines(ctx)
}

// completeText gives the records of the pool their BM25 score. The plus makes
// SQLite go over all matches once: asked for each row by itself it would weigh
// every word anew each time.
func (r *recall) completeText(ctx context.Context) error {
	words := matchAny(r.words)
	if words == "" {
		return nil
	}
	rows, err := r.store.db.QueryContext(ctx, "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ? AND +rowid IN "+listed(r.pool), words)
	if err != nil {
		return fmt.Errorf("score the words: %w", judged(err))
	}
	defer rows.Close()
	for rows.Next() {
		var record int64
		var score float64
		if err := rows.Scan(&record, &score); err != nil {
			return fmt.Errorf("score the words: %w", judged(err))
		}
		r.at(record).text = score
	}
	return judged(rows.Err())
}

// completeCosines gives records that the words proposed their cosine.
func (r *recall) completeCosines(ctx context.Context) error {
	if r.vector == nil {
		return nil
	}
	missing := map[int64]*candidate{}
	for record, c := range r.pool {
		if !c.hasVector {
			missing[record] = c
		}
	}
	reader := &rowReader{dim: len(r.vector)} // what is damaged was counted
	if r.sweep != nil {
		return r.sweep.cosines(ctx, missing, reader)
	}
	var places []place
	for _, p := range r.places {
		if missing[p.record] != nil {
			places = append(places, p)
		}
	}
	return giveCosines(ctx, reader, question{vector: r.vector, places: places}, missing)
}

// giveCosines gives candidates the cosines of the vectors at places.
func giveCosines(ctx context.Context, reader *rowReader, q question, wanted map[int64]*candidate) error {
	return reader.each(ctx, q.places, func(b block) error {
		for i, p := range b.places {
			c := wanted[p.record]
			c.cosine, c.hasVector = dot(q.vector, b.rows[i]), true
		}
		return nil
	})
}
