package vectors

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/quantized"
)

// Place names one vector: the record it belongs to, the block that has it, and the
// checksum of its row.
type Place struct {
	Record     int64
	Block      int64
	Sum        uint32
	Importance float64
	Index      int // of whoever asks
}

// batch are vectors that were read together. rows[i] is that of places[i]; all are
// slices of one buffer and valid until the next.
type batch struct {
	places []Place
	rows   [][]float32
}

// blocksAtOnce is how many blocks are in memory at a time.
const blocksAtOnce = 16

// Reader reads vectors a few blocks at a time: its memory does not grow with the
// memory.
type Reader struct {
	q       database.Querier
	dim     int
	buffer  []float32
	damaged int // vectors passed over because they are lost or do not verify
}

// NewReader returns a reader of vectors of a dimension.
func NewReader(q database.Querier, dim int) *Reader { return &Reader{q: q, dim: dim} }

// Each hands out the vectors at places that verify, in the order of blocks. One that
// does not verify is passed over: its record is found by its text. A vector is valid
// until the next.
func (r *Reader) Each(ctx context.Context, places []Place, fn func(p Place, vector []float32)) error {
	return r.batches(ctx, places, func(b batch) error {
		for i, p := range b.places {
			fn(p, b.rows[i])
		}
		return nil
	})
}

// batches is Each, a batch at a time.
func (r *Reader) batches(ctx context.Context, places []Place, fn func(b batch) error) error {
	places = slices.Clone(places)
	slices.SortFunc(places, func(x, y Place) int { return cmp.Or(cmp.Compare(x.Block, y.Block), cmp.Compare(x.Record, y.Record)) })
	for len(places) > 0 {
		n, blocks := 0, []int64(nil)
		for ; n < len(places); n++ {
			if last := len(blocks) - 1; last >= 0 && blocks[last] == places[n].Block {
				continue
			}
			if len(blocks) == blocksAtOnce {
				break
			}
			blocks = append(blocks, places[n].Block)
		}
		b, err := r.read(ctx, blocks, places[:n])
		if err != nil {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
		places = places[n:]
	}
	return nil
}

// read reads the vectors at places, which are in some blocks.
func (r *Reader) read(ctx context.Context, blocks []int64, places []Place) (b batch, err error) {
	if floats := len(places) * r.dim; len(r.buffer) < floats {
		r.buffer = make([]float32, floats)
	}
	rows, err := r.q.QueryContext(ctx, "SELECT block, records, rows FROM vector_blocks WHERE block IN "+database.List(blocks))
	if err != nil {
		return b, fmt.Errorf("read vectors: %w", database.Classify(err))
	}
	defer rows.Close()
	var records []int64
	for rows.Next() {
		var number int64
		var list, data sql.RawBytes
		if err := rows.Scan(&number, &list, &data); err != nil {
			return b, fmt.Errorf("read vectors: %w", database.Classify(err))
		}
		records, _ = readRecords(records[:0], list) // what is missing does not verify
		from, _ := slices.BinarySearchFunc(places, number, func(p Place, number int64) int { return cmp.Compare(p.Block, number) })
		to := from
		for to < len(places) && places[to].Block == number {
			to++
		}
		r.take(&b, places[from:to], records, data)
	}
	r.damaged += len(places) - len(b.places)
	return b, database.Classify(rows.Err())
}

// take takes the vectors at places, which are in one block, in the order of records.
func (r *Reader) take(b *batch, places []Place, records []int64, data []byte) {
	for _, record := range records {
		row := quantized.Cut(data)
		data = data[len(row):]
		i, wanted := slices.BinarySearchFunc(places, record, func(p Place, record int64) int { return cmp.Compare(p.Record, record) })
		if !wanted || row == nil || quantized.Sum(row) != places[i].Sum {
			continue
		}
		vector := r.buffer[len(b.rows)*r.dim:][:r.dim]
		if quantized.Decode(row, vector) {
			b.places, b.rows = append(b.places, places[i]), append(b.rows, vector)
		}
	}
}

// readPlaces reads rows of record, block, checksum and importance.
func readPlaces(ctx context.Context, q database.Querier, query string, args ...any) (places []Place, err error) {
	return database.All(ctx, database.For(q, "look up vectors"), func(p *Place) []any { return []any{&p.Record, &p.Block, &p.Sum, &p.Importance} }, query, args...)
}
