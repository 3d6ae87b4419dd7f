package memory

import (
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSweptRows: the rows with the highest scores are kept, whatever order they come
// in, and each only answers for a place that names this row in this block.
func TestSweptRows(t *testing.T) {
	const count, dim = 5000, 64
	random := rand.New(rand.NewPCG(3, 4))
	vectors := make([]Vector, count)
	for i := range vectors {
		vectors[i].Values = unit(random, dim)
	}
	rows, sums, err := encodeRows(vectors, dim)
	if err != nil {
		t.Fatal(err)
	}
	kept := newSweptRows()
	places := make([]place, count)
	for i, score := range random.Perm(count) {
		kept.add(int64(score), int64(i/blockVectors), float32(score), rows[i])
		places[score] = place{record: int64(score), block: int64(i / blockVectors), crc: sums[i], index: i}
	}
	best := places[count-keptRows:]
	want := make([]float32, dim)
	if others := kept.take(best, dim, func(p place, got []float32) {
		if !decodeRow(rows[p.index], want) || !slices.Equal(got, want) {
			t.Errorf("record %d has another vector", p.record)
		}
	}); len(others) > 0 {
		t.Errorf("%d of the best %d rows are not kept", len(others), keptRows)
	}
	if len(kept.list) > 2*keptRows {
		t.Errorf("%d rows are kept", len(kept.list))
	}
	last := best[keptRows-1]
	for what, p := range map[string]place{
		"another block":    {record: last.record, block: last.block + 1, crc: last.crc},
		"another checksum": {record: last.record, block: last.block, crc: crc32.Checksum(nil, castagnoli())},
		"another record":   {record: count, block: last.block, crc: last.crc},
		"the lowest score": places[0],
	} {
		others := kept.take([]place{p}, dim, func(place, []float32) { t.Errorf("%s: answered", what) })
		if !slices.Equal(others, []place{p}) {
			t.Errorf("%s: %v is left to be read", what, others)
		}
	}
}
