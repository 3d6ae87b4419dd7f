package vectors

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/quantized"
)

// A sweep compares the query with every vector, block by block, and only then asks
// for the names of the best: asking for all costs more than comparing them all
// (docs/dev/performance.md).
//
// What a block says is not believed unread: one whose checksum does not hold ends
// the sweep, and every vector is then read and checked by its own.
type sweep struct {
	q       database.Querier
	scope   Scope
	spaces  []Space
	vector  []float32
	scores  []float32 // of all vectors: their cosines, to within slack
	records []int64   // whose those are
	// The rows of the best: as many as are asked for when Nearest is called first.
	// Their blocks need not be read once more.
	best  *quantized.Best
	slack float64
}

// errSweepMore is returned when most of the best vectors may not be found, or a block
// is damaged: then those that may be found are listed.
var errSweepMore = errors.New("too few of the vectors may be found")

// sweptBlocks is how many blocks there must be for a sweep: of fewer it does not
// matter.
const sweptBlocks = chromemLimit/blockVectors + 2

// newSweep returns nil if the question is not one for a sweep: it has filters that
// most records may not pass, or there are few vectors.
func (s *Search) newSweep(ctx context.Context) (*sweep, error) {
	if !s.scope.Unfiltered || s.scope.Score != nil {
		return nil, nil
	}
	spaces, err := listSpaces(ctx, s.q, "s.model=?1 AND (?2='' OR s.agent=?2)", s.model.Fingerprint(), s.scope.Agent)
	if err != nil {
		return nil, err
	}
	w, blocks := &sweep{q: s.q, scope: s.scope, spaces: spaces}, 0
	for _, space := range spaces {
		var n int
		first, end := space.blocks()
		err := s.q.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM vector_blocks WHERE block>=? AND block<? LIMIT ?)", first, end, sweptBlocks).Scan(&n)
		if err != nil {
			return nil, fmt.Errorf("count vectors: %w", database.Classify(err))
		}
		if blocks += n; blocks >= sweptBlocks {
			return w, nil
		}
	}
	return nil, nil
}

// compare compares the query with all vectors. errSweepMore is returned when a block
// is damaged.
func (w *sweep) compare(ctx context.Context, vector []float32) error {
	w.vector = vector
	c := quantized.NewComparer(vector)
	w.slack, w.best = c.Slack(), quantized.NewBest(2*w.scope.First+tieRoom)
	for _, s := range w.spaces {
		if err := w.compareSpace(ctx, s, c); err != nil {
			return err
		}
	}
	return nil
}

func (w *sweep) compareSpace(ctx context.Context, s Space, c *quantized.Comparer) error {
	first, end := s.blocks()
	rows, err := w.q.QueryContext(ctx, "SELECT block, sum, records, rows FROM vector_blocks WHERE block>=? AND block<?", first, end)
	if err != nil {
		return fmt.Errorf("read vectors: %w", database.Classify(err))
	}
	defer rows.Close()
	var number, sum any // taken as they come, which database/sql does without looking at their types
	var list, data sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&number, &sum, &list, &data); err != nil {
			return fmt.Errorf("read vectors: %w", database.Classify(err))
		}
		block, _ := number.(int64)
		if sum != sumOfBlock(block, list, data) || !w.compareBlock(c, block, list, data) {
			return errSweepMore
		}
	}
	return database.Classify(rows.Err())
}

// compareBlock compares the query with the rows of a block. It reports whether there
// is one for each of its records.
func (w *sweep) compareBlock(c *quantized.Comparer, block int64, list, data []byte) (ok bool) {
	from := len(w.records)
	if w.records, ok = readRecords(w.records, list); !ok {
		return false
	}
	for _, record := range w.records[from:] {
		row := quantized.Cut(data)
		if row == nil {
			return false
		}
		score := c.Cosine(row)
		w.best.Add(quantized.Key{Record: record, Block: block}, score, row)
		w.scores, data = append(w.scores, score), data[len(row):]
	}
	return len(data) == 0
}

// nearest returns the n records whose vectors are nearest to the query, best
// first, equal ones by record: what function nearest returns of all vectors
// that are named. A vector below floor cannot be among them once n others are
// above it by more than slack.
func (w *sweep) nearest(ctx context.Context, n int, reader *Reader) ([]scored, error) {
	for k := 2*n + tieRoom; ; k *= 4 {
		floor, records := w.highest(k)
		if 8*len(records) > len(w.scores) {
			return nil, errSweepMore
		}
		places, err := w.placesOf(ctx, records, true)
		if err != nil {
			return nil, err
		}
		best := &shortlist{n: n}
		err = w.each(ctx, places, reader, func(p Place, vector []float32) {
			cosine := quantized.Dot(w.vector, vector)
			best.add(scored{p.Record, cosine, cosine})
		})
		found := best.take()
		if err != nil || best.full && best.floor > float64(floor)+w.slack {
			return found, err
		}
		reader.damaged = 0
	}
}

// each hands out the vectors at places, first those whose rows the sweep has kept.
func (w *sweep) each(ctx context.Context, places []Place, reader *Reader, fn func(p Place, vector []float32)) error {
	kept, vector := w.best.Rows(), make([]float32, len(w.vector))
	var others []Place
	for _, p := range places {
		row := kept[quantized.Key{Record: p.Record, Block: p.Block}]
		if row == nil || quantized.Sum(row) != p.Sum || !quantized.Decode(row, vector) {
			others = append(others, p)
			continue
		}
		fn(p, vector)
	}
	return reader.Each(ctx, others, fn)
}

// highest returns the records with the k highest scores, more if several have the
// lowest of these, and that score.
func (w *sweep) highest(k int) (floor float32, records []int64) {
	k = min(k, len(w.scores))
	var top []float32
	floor = -2
	cut := func() {
		slices.Sort(top)
		top = top[len(top)-k:]
		floor = top[0]
	}
	for _, score := range w.scores {
		if score > floor {
			if top = append(top, score); len(top) >= 2*k+64 {
				cut()
			}
		}
	}
	if len(top) >= k {
		cut()
	}
	for i, score := range w.scores {
		if score >= floor {
			records = append(records, w.records[i])
		}
	}
	return floor, records
}

// cosines hands out the vectors of records that have one.
func (w *sweep) cosines(ctx context.Context, keys []int64, reader *Reader, fn func(p Place, vector []float32)) error {
	places, err := w.placesOf(ctx, keys, false)
	if err != nil {
		return err
	}
	return w.each(ctx, places, reader, fn)
}

// placesOf returns where the vectors of records are; found leaves those out that the
// question may not find.
func (w *sweep) placesOf(ctx context.Context, records []int64, found bool) (places []Place, err error) {
	spaces := make([]int64, len(w.spaces))
	for i, s := range w.spaces {
		spaces[i] = s.space
	}
	query := "SELECT record, block, crc & 4294967295, 0.0 FROM vector_rows WHERE record IN " + database.List(records) + " AND space IN " + database.List(spaces)
	if found && w.scope.Hidden != "" {
		query += " AND record NOT IN (" + w.scope.Hidden + ")"
	}
	return readPlaces(ctx, w.q, query)
}
