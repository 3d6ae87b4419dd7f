package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/viterin/vek/vek32"
)

const columns = "r.id, r.text, r.category, r.importance, r.created_at, r.runtime, r.agent, r.session, r.key, r.archive, r.archive_path, r.first_line, r.last_line, r.first_byte, r.end_byte, r.branch, r.position"

// load reads the records of the pool and gives each the score of the half
// that did not propose it, so that both count for all.
func (r *recall) load(ctx context.Context) error {
	if len(r.pool) == 0 {
		return nil
	}
	if err := r.loadRecords(ctx); err != nil {
		return err
	}
	if err := r.completeText(ctx); err != nil {
		return err
	}
	return r.completeCosines(ctx)
}

// poolList is the pool as an SQL list. Row ids are numbers: nothing to quote.
func (r *recall) poolList() string {
	ids := make([]string, 0, len(r.pool))
	for record := range r.pool {
		ids = append(ids, fmt.Sprint(record))
	}
	return "(" + strings.Join(ids, ",") + ")"
}

func (r *recall) loadRecords(ctx context.Context) error {
	rows, err := r.store.db.QueryContext(ctx, "SELECT r.rowid, "+columns+" FROM records r WHERE r.rowid IN "+r.poolList())
	if err != nil {
		return fmt.Errorf("read records: %w", err)
	}
	defer rows.Close()
	names := identifiers(r.query.Text)
	for rows.Next() {
		var rowid int64
		var x Record
		err := rows.Scan(&rowid, &x.ID, &x.Text, &x.Category, &x.Importance, &x.CreatedAt, &x.Runtime, &x.Agent, &x.Session, &x.Key,
			&x.Archive, &x.ArchivePath, &x.FirstLine, &x.LastLine, &x.FirstByte, &x.EndByte, &x.Branch, &x.Position)
		if err != nil {
			return fmt.Errorf("read records: %w", err)
		}
		c := r.at(rowid)
		c.record, c.loaded, c.exact = x, true, holdsAny(x.Text, names)
	}
	return rows.Err()
}

func holdsAny(text string, names []string) bool {
	for _, name := range names {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// completeText gives records that the vectors proposed their BM25 score.
func (r *recall) completeText(ctx context.Context) error {
	words := match(r.query.Text)
	if words == "" || r.query.Rank != RankHybrid {
		return nil
	}
	rows, err := r.store.db.QueryContext(ctx, "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ? AND rowid IN "+r.poolList(), words)
	if err != nil {
		return fmt.Errorf("score the words: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var record int64
		var score float64
		if err := rows.Scan(&record, &score); err != nil {
			return fmt.Errorf("score the words: %w", err)
		}
		r.at(record).text = score
	}
	return rows.Err()
}

// completeCosines gives records that the words proposed their cosine.
func (r *recall) completeCosines(ctx context.Context) error {
	if r.vector == nil {
		return nil
	}
	var missing []place
	for _, p := range r.all {
		if c := r.pool[p.record]; c != nil && c.cosine == 0 {
			missing = append(missing, p)
		}
	}
	return eachRow(ctx, missing, len(r.vector), func(p place, row []float32) error {
		r.pool[p.record].cosine = float64(vek32.Dot(r.vector, row))
		return nil
	})
}
