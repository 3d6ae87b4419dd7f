package quantized

import (
	"cmp"
	"slices"
)

// Key says whose row it is, and in which block.
type Key struct{ Record, Block int64 }

// Best are the rows with the highest scores of those that were added, so that they
// need not be read once more. There is room for twice as many as are kept, and what
// is passed over leaves its room to the next.
type Best struct {
	n     int
	list  []scoredRow
	floor float32 // what is not above it is none of the best
}

type scoredRow struct {
	key   Key
	score float32
	row   []byte
}

// NewBest keeps at least the n best rows, and at most twice as many.
func NewBest(n int) *Best {
	return &Best{n: n, list: make([]scoredRow, 0, 2*n), floor: 2 * noCosine}
}

// Add keeps a row if it may be one of the best. It is copied.
func (b *Best) Add(key Key, score float32, row []byte) {
	if score <= b.floor {
		return
	}
	if len(b.list) == cap(b.list) {
		b.cut()
	}
	n := len(b.list)
	b.list = b.list[:n+1]
	b.list[n] = scoredRow{key, score, append(b.list[n].row[:0], row...)}
}

// cut passes over all but the best.
func (b *Best) cut() {
	slices.SortFunc(b.list, func(x, y scoredRow) int { return cmp.Compare(y.score, x.score) })
	b.list = b.list[:b.n]
	b.floor = b.list[b.n-1].score
}

// Rows are the rows that are kept.
func (b *Best) Rows() map[Key][]byte {
	rows := make(map[Key][]byte, len(b.list))
	for _, r := range b.list {
		rows[r.key] = r.row
	}
	return rows
}
