package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// Vector is the embedding of a record.
type Vector struct {
	ID     string
	Values []float32 // as many as the model's dimension; brought to unit length
}

// Failure is a record that could not be embedded, and why. It stays text.
type Failure struct {
	ID     string
	Reason string
	// Nothing is true when the text has nothing to embed: it is not pending.
	Nothing bool
}

// PutVectors stores vectors, with what failed, in one transaction. Vectors that are
// not finite, not of the model's dimension or zero are refused, and with them all of
// the call (the errors of embed.Check). A vector whose record is gone, or is another
// agent's, is not stored.
func (s embeddings) PutVectors(ctx context.Context, model embed.Model, agent string, vectors []Vector, failed []Failure) error {
	values := make([][]float32, len(vectors))
	for i, v := range vectors {
		values[i] = v.Values
	}
	if err := embed.Check(values, len(values), model.Dim); err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		w, err := newVectorWriter(ctx, tx, model, agent)
		if err != nil {
			return err
		}
		if len(vectors) > 0 {
			if err := w.putAll(model.Dim, vectors); err != nil {
				return err
			}
		}
		return noteFailures(ctx, tx, model, failed)
	})
}

// checkEvery is how often every vector is checked by who embeds.
const checkEvery = 7 * 24 * time.Hour

// Reclaim makes records pending again whose vector is not what was stored, and those
// beside it in its block. It returns how many.
func (s embeddings) Reclaim(ctx context.Context, model embed.Model, agent string) (int, error) {
	return s.reclaim(ctx, model, agent, time.Time{})
}

// reclaim is Reclaim if the last check was before a moment; zero is always.
func (s embeddings) reclaim(ctx context.Context, model embed.Model, agent string, before time.Time) (lost int, err error) {
	if err := s.register(ctx, model); err != nil {
		return 0, err
	}
	spaces, err := vectorSpaces(ctx, s.db, "s.model=? AND s.agent=?", model.Fingerprint(), agent)
	if err != nil || len(spaces) == 0 || !before.IsZero() && !time.UnixMilli(spaces[0].checked).Before(before) {
		return 0, err
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		found, err := spaces[0].check(ctx, tx)
		if err != nil {
			return err
		}
		if len(found.blocks) > 0 {
			if lost, err = dropBlocks(ctx, tx, found.blocks); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE vector_spaces SET checked=? WHERE space=?", time.Now().UnixMilli(), spaces[0].space)
		return err
	})
	return lost, err
}

// toUnit returns the vector scaled to unit length.
func toUnit(v []float32) []float32 { return appendUnit(make([]float32, 0, len(v)), v) }

// appendUnit appends the vector scaled to unit length.
func appendUnit(unit, v []float32) []float32 {
	scale := 1 / norm(v)
	for _, x := range v {
		unit = append(unit, float32(float64(x)*scale))
	}
	return unit
}

func norm(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// place names one vector: the record it belongs to, the block that has it, and the
// checksum of its row.
type place struct {
	record     int64
	block      int64
	crc        uint32
	importance float64
	index      int // of whoever asks
}

// rowsAtOnce are vectors that were read together. rows[i] is that of places[i]; all
// are slices of one buffer and valid until the next.
type rowsAtOnce struct {
	places []place
	rows   [][]float32
}

// blocksAtOnce is how many blocks are in memory at a time.
const blocksAtOnce = 16

// rowReader reads vectors a few blocks at a time: its memory does not grow with the
// memory.
type rowReader struct {
	q       database.Querier
	dim     int
	buffer  []float32
	damaged int // vectors passed over because they are lost or do not verify
}

// each hands out the vectors at places that verify, in the order of blocks. One that
// does not verify is passed over and counted: its record is found by its text.
func (r *rowReader) each(ctx context.Context, places []place, fn func(b rowsAtOnce) error) error {
	places = slices.Clone(places)
	slices.SortFunc(places, func(x, y place) int { return cmp.Or(cmp.Compare(x.block, y.block), cmp.Compare(x.record, y.record)) })
	for len(places) > 0 {
		n, blocks := 0, []int64(nil)
		for ; n < len(places); n++ {
			if last := len(blocks) - 1; last >= 0 && blocks[last] == places[n].block {
				continue
			}
			if len(blocks) == blocksAtOnce {
				break
			}
			blocks = append(blocks, places[n].block)
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
func (r *rowReader) read(ctx context.Context, blocks []int64, places []place) (b rowsAtOnce, err error) {
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
		from, _ := slices.BinarySearchFunc(places, number, func(p place, number int64) int { return cmp.Compare(p.block, number) })
		to := from
		for to < len(places) && places[to].block == number {
			to++
		}
		r.take(&b, places[from:to], records, data)
	}
	r.damaged += len(places) - len(b.places)
	return b, database.Classify(rows.Err())
}

// take takes the vectors at places, which are in one block, in the order of records.
func (r *rowReader) take(b *rowsAtOnce, places []place, records []int64, data []byte) {
	for _, record := range records {
		row := cutRow(data)
		data = data[len(row):]
		i, wanted := slices.BinarySearchFunc(places, record, func(p place, record int64) int { return cmp.Compare(p.record, record) })
		if !wanted || row == nil || crc32.Checksum(row, castagnoli()) != places[i].crc {
			continue
		}
		vector := r.buffer[len(b.rows)*r.dim:][:r.dim]
		if decodeRow(row, vector) {
			b.places, b.rows = append(b.places, places[i]), append(b.rows, vector)
		}
	}
}
