package memory

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// comparer compares a query with packed rows, without making vectors of them:
// a plain loop over numbers of 8 bits would be slower than vector instructions
// over float32.
//
// Listed components are added one by one where row and query both have one:
// of a question's words few stand in a row. Eight of the others are taken at a
// time. Four bytes, 16 bits apart in a word, are multiplied by four components
// of the query that lie the other way round: the topmost 16 bits of the product
// are the sum of the four products. It cannot overflow if a component of the
// query has 6 bits, so each is two such halves, and both are made positive
// first.
type comparer struct {
	query  []float32
	masks  []uint64 // a bit for each component that is not 0, 64 a word
	blocks []queryBlock
	starts []start // by split / 64
	step   float32
	// slack is by how much a cosine may be off.
	slack float64
}

// queryBlock are 8 components of the query, some of them not 0: even and odd
// ones, the higher and the lower 6 bits.
type queryBlock struct {
	at                                 int // component
	evenHigh, evenLow, oddHigh, oddLow uint64
	sum                                int // of the components
}

// start is the first block of those components that are not listed.
type start struct {
	block int
	sum   int // of the components from there on
}

// queryBias makes components of the query positive: they have 12 bits.
const (
	queryBias    = 1 << 11
	queryLargest = queryBias - 1
	rowBias      = 128
)

func newComparer(query []float32) *comparer {
	c := &comparer{query: query, masks: make([]uint64, (len(query)+63)/64), slack: rounding}
	largest := 0.0
	for i, x := range query {
		if x != 0 {
			c.masks[i/64] |= 1 << (i % 64)
		}
		largest = max(largest, math.Abs(float64(x)))
	}
	c.step = float32(largest / queryLargest)
	off := 0.0
	for at := 0; at < len(query); at += 8 {
		if b, any := c.block(at, &off); any {
			c.blocks = append(c.blocks, b)
		}
	}
	c.slack += math.Sqrt(off)
	rest, block := 0, 0
	for _, b := range c.blocks {
		rest += b.sum
	}
	for split := 0; split <= len(query); split += 64 {
		for ; block < len(c.blocks) && c.blocks[block].at < split; block++ {
			rest -= c.blocks[block].sum
		}
		c.starts = append(c.starts, start{block, rest})
	}
	return c
}

// block takes the components from at on. What is lost is added to off, squared.
func (c *comparer) block(at int, off *float64) (b queryBlock, any bool) {
	b.at = at
	for i := range 8 {
		n := 0
		if at+i < len(c.query) && c.query[at+i] != 0 {
			x := float64(c.query[at+i])
			n = int(math.Round(x / float64(c.step)))
			n = max(-queryLargest, min(queryLargest, n))
			lost := x - float64(n)*float64(c.step)
			*off += lost * lost
			any = true
		}
		b.sum += n
		high, low := uint64(n+queryBias)>>6, uint64(n+queryBias)&63
		lane := 48 - 16*(i/2)
		if i%2 == 0 {
			b.evenHigh, b.evenLow = b.evenHigh|high<<lane, b.evenLow|low<<lane
		} else {
			b.oddHigh, b.oddLow = b.oddHigh|high<<lane, b.oddLow|low<<lane
		}
	}
	return b, any
}

// cosine compares the query with a row, to within slack. What is no row has
// none.
func (c *comparer) cosine(row []byte) float32 {
	p, ok := openRow(row, len(c.query))
	if !ok {
		return noCosine
	}
	sum := c.step * float32(c.others(&p))
	if p.split > 0 {
		sum += c.listed(&p)
	}
	return sum*p.scale + p.peak*c.query[p.peakAt]
}

// noCosine is less than any cosine.
const noCosine = -2

// listed is the inner product of what is listed.
func (c *comparer) listed(p *packedRow) (sum float32) {
	at := 0
	for w, mask := range c.masks[:p.split/64] {
		word := binary.LittleEndian.Uint64(p.bitmap[8*w:])
		for both := word & mask; both != 0; both &= both - 1 {
			bit := bits.TrailingZeros64(both)
			if n := at + bits.OnesCount64(word&(1<<bit-1)); n < len(p.listed) {
				sum += c.query[64*w+bit] * float32(int8(p.listed[n]))
			}
		}
		at += bits.OnesCount64(word)
	}
	return sum
}

// others is the inner product of the others, in whole numbers.
func (c *comparer) others(p *packedRow) int {
	const (
		lanes = 0x00FF00FF00FF00FF
		ones  = 0x0001000100010001
		signs = 0x8080808080808080
	)
	var high, low, all uint64
	from := c.starts[p.split/64]
	blocks := c.blocks[from.block:]
	for i := range blocks {
		b := &blocks[i]
		word := binary.LittleEndian.Uint64(p.others[b.at-p.split:]) ^ signs
		even, odd := word&lanes, word>>8&lanes
		high += even*b.evenHigh>>48 + odd*b.oddHigh>>48
		low += even*b.evenLow>>48 + odd*b.oddLow>>48
		all += (even + odd) * ones >> 48
	}
	// (n + rowBias) * (q + queryBias), summed up, less what the two biases add.
	return int(high<<6+low) - queryBias*int(all) - rowBias*from.sum
}
