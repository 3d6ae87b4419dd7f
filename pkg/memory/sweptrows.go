package memory

import (
	"cmp"
	"hash/crc32"
	"slices"

	"github.com/sessctl/sessctl/pkg/memory/rank"
)

// keptRows is how many rows a sweep keeps: as many as a question asks for by their
// vectors when it asks for the first time.
const keptRows = 2*rank.Proposed + tieRoom

// sweptRow is the row of a vector, in a block whose checksum held.
type sweptRow struct {
	record, block int64
	score         float32
	row           []byte
}

// sweptRows are those with the highest scores of the rows that a sweep has passed, so
// that the blocks of the best need not be read once more. There is room for twice as
// many as are kept, and what is passed over leaves its room to the next.
type sweptRows struct {
	list  []sweptRow
	floor float32 // what is not above it is none of the best
}

func newSweptRows() sweptRows {
	return sweptRows{list: make([]sweptRow, 0, 2*keptRows), floor: 2 * noCosine}
}

// add keeps a row if it may be one of the best.
func (s *sweptRows) add(record, block int64, score float32, row []byte) {
	if score <= s.floor {
		return
	}
	if len(s.list) == cap(s.list) {
		s.cut()
	}
	n := len(s.list)
	s.list = s.list[:n+1]
	s.list[n] = sweptRow{record, block, score, append(s.list[n].row[:0], row...)}
}

// cut passes over all but the best.
func (s *sweptRows) cut() {
	slices.SortFunc(s.list, func(x, y sweptRow) int { return cmp.Compare(y.score, x.score) })
	s.list = s.list[:keptRows]
	s.floor = s.list[keptRows-1].score
}

// take hands out the vectors at places whose rows are kept and have the checksum
// that they are named with, and returns the other places. The vector is valid until
// the next.
func (s *sweptRows) take(places []place, dim int, fn func(p place, vector []float32)) (others []place) {
	slices.SortFunc(s.list, func(x, y sweptRow) int { return cmp.Compare(x.record, y.record) })
	vector := make([]float32, dim)
	for _, p := range places {
		i, found := slices.BinarySearchFunc(s.list, p.record, func(r sweptRow, record int64) int { return cmp.Compare(r.record, record) })
		if !found || s.list[i].block != p.block || crc32.Checksum(s.list[i].row, castagnoli()) != p.crc || !decodeRow(s.list[i].row, vector) {
			others = append(others, p)
			continue
		}
		fn(p, vector)
	}
	return others
}
