package words

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Segments whose records interleave are joined as if they were one; a record that
// two of them have is damage.
func TestPostingsAreJoined(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		parts, last := make([][]byte, 1+r.IntN(4)), make([]int64, 4)
		var want []byte
		record, before := int64(0), int64(0)
		for range r.IntN(50) {
			record += 1 + r.Int64N(300)
			part, times := r.IntN(len(parts)), uint32(1+r.IntN(3))
			parts[part] = appendPosting(parts[part], last[part], record, times)
			last[part] = record
			want = appendPosting(want, before, record, times)
			before = record
		}
		m := mergeOf(parts)
		if joined := m.join(); joined != (len(want) > 0) || !slices.Equal(m.data, want) {
			t.Fatalf("joined %v: %x, want %x", joined, m.data, want)
		}
	}
	for _, parts := range [][][]byte{
		{appendPosting(nil, 0, 7, 1), appendPosting(nil, 0, 7, 2)},
		{appendPosting(nil, 0, 7, 1), {0x80}},
		{append(appendPosting(nil, 0, 7, 1), 0), appendPosting(nil, 0, 8, 1)},
	} {
		if mergeOf(parts).join() {
			t.Errorf("damaged postings %x were joined", parts)
		}
	}
}

func mergeOf(parts [][]byte) *wordMerge {
	m := &wordMerge{}
	for _, data := range parts {
		m.same = append(m.same, &mergedSegment{data: data})
	}
	return m
}
