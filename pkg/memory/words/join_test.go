package words

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Segments of records one behind the other are joined as if they were one. A record that
// two of them have is damage, and those that interleave have to be sorted.
func TestPostingsAreJoined(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var want []byte
		parts := make([][]byte, 1+r.IntN(4))
		record, before := int64(0), int64(0)
		for i := range parts {
			for inPart := int64(0); len(parts[i]) == 0 || r.IntN(20) > 0; before, inPart = record, record {
				record += 1 + r.Int64N(300)
				times := uint32(1 + r.IntN(3))
				parts[i] = appendPosting(parts[i], inPart, record, times)
				want = appendPosting(want, before, record, times)
			}
		}
		if m := mergeOf(parts); !m.join() || !slices.Equal(m.data, want) || m.records != countOf(want) {
			t.Fatalf("joined %x of %d records, want %x", m.data, m.records, want)
		}
		if slices.Reverse(parts); len(parts) > 1 && mergeOf(parts).join() {
			t.Fatalf("postings that stand before those of the segment before were joined: %x", parts)
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

func countOf(data []byte) (n int64) {
	for p := (postings{data: data}); p.next(); n++ {
	}
	return n
}

func mergeOf(parts [][]byte) *wordMerge {
	m := &wordMerge{}
	for _, data := range parts {
		m.same = append(m.same, &mergedSegment{data: data})
	}
	return m
}
