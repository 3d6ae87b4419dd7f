package quantized

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Comparer compares a query with packed rows, without making vectors of them:
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
type Comparer struct {
	query  []float32
	masks  []uint64 // a bit for each component that is not 0, 64 a word
	runs   []queryRun
	starts []start // by split / 64
	step   float32
	slack  float64
}

// Rounding is more than what two float32 cosines of the same unit vectors differ by,
// whoever adds them up. Cosines that are closer than this are compared in float64.
const Rounding = 1e-5

// queryBlock are 8 components of the query: the higher 6 bits of those with an
// even number and of those with an odd one, and the lower 6 bits of both.
type queryBlock [4]uint64

// queryRun are blocks that follow each other, none of them all 0.
type queryRun struct {
	at     int // component
	blocks []queryBlock
}

// start is where those components begin that are not listed.
type start struct {
	run, skipped int // blocks of that run
	sum          int // of the components from there on
}

// longestRun is how many blocks sums of 16 bits have room for.
const longestRun = 128

// queryBias makes components of the query positive: they have 12 bits.
const (
	queryBias    = 1 << 11
	queryLargest = queryBias - 1
	rowBias      = 128
)

// NewComparer prepares a question, of unit length, for being compared with rows.
func NewComparer(query []float32) *Comparer {
	c := &Comparer{query: query, masks: make([]uint64, (len(query)+63)/64), slack: Rounding}
	largest := 0.0
	for i, x := range query {
		if x != 0 {
			c.masks[i/64] |= 1 << (i % 64)
		}
		largest = max(largest, math.Abs(float64(x)))
	}
	c.step = float32(largest / queryLargest)
	off, sums := 0.0, make([]int, 0, len(query)/8+1)
	for at := 0; at < len(query); at += 8 {
		sums = append(sums, c.addBlock(at, &off))
	}
	c.slack += math.Sqrt(off)
	for split := 0; split <= len(query); split += 64 {
		c.starts = append(c.starts, c.startAt(split, sums[min(split/8, len(sums)):]))
	}
	return c
}

// addBlock adds the components from at on to the runs, if one of them is not 0,
// and returns their sum. What is lost is added to off, squared.
func (c *Comparer) addBlock(at int, off *float64) (sum int) {
	var b queryBlock
	empty := true
	for i := range 8 {
		n := 0
		if at+i < len(c.query) && c.query[at+i] != 0 {
			x := float64(c.query[at+i])
			n = max(-queryLargest, min(queryLargest, int(math.Round(x/float64(c.step)))))
			lost := x - float64(n)*float64(c.step)
			*off += lost * lost
			empty = false
		}
		sum += n
		lane := 48 - 16*(i/2)
		b[i%2] |= uint64(n+queryBias) >> 6 << lane
		b[2+i%2] |= uint64(n+queryBias) & 63 << lane
	}
	if empty {
		return 0
	}
	last := len(c.runs) - 1
	if last < 0 || c.runs[last].at+8*len(c.runs[last].blocks) != at || len(c.runs[last].blocks) == longestRun {
		c.runs = append(c.runs, queryRun{at: at})
		last++
	}
	c.runs[last].blocks = append(c.runs[last].blocks, b)
	return sum
}

// startAt finds where the components from split on begin; sums are those of
// their blocks.
func (c *Comparer) startAt(split int, sums []int) (s start) {
	for _, sum := range sums {
		s.sum += sum
	}
	for s.run < len(c.runs) && c.runs[s.run].at+8*len(c.runs[s.run].blocks) <= split {
		s.run++
	}
	if s.run < len(c.runs) {
		s.skipped = max(0, (split-c.runs[s.run].at)/8)
	}
	return s
}

// Slack is by how much a cosine may be off.
func (c *Comparer) Slack() float64 { return c.slack }

// Cosine compares the query with a row, to within slack. What is no row has
// noCosine.
func (c *Comparer) Cosine(row []byte) float32 {
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
func (c *Comparer) listed(p *packedRow) (sum float32) {
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
func (c *Comparer) others(p *packedRow) int {
	from := c.starts[p.split/64]
	biased, all, skipped := 0, 0, from.skipped
	for i := from.run; i < len(c.runs); i++ {
		r := &c.runs[i]
		n, sum := products(p.others[r.at+8*skipped-p.split:], r.blocks[skipped:])
		biased, all, skipped = biased+n, all+sum, 0
	}
	// (n + rowBias) * (q + queryBias), summed up, less what the two biases add.
	return biased - queryBias*all - rowBias*from.sum
}

// products is the inner product of the first bytes of a row, made positive, with
// blocks, and the sum of these bytes.
func products(row []byte, blocks []queryBlock) (biased, sum int) {
	const (
		lanes = 0x00FF00FF00FF00FF
		signs = 0x8080808080808080
	)
	var high, low, sums uint64
	row = row[:8*len(blocks)]
	for len(blocks) >= 2 && len(row) >= 16 {
		first, second := &blocks[0], &blocks[1]
		word, next := binary.LittleEndian.Uint64(row)^signs, binary.LittleEndian.Uint64(row[8:])^signs
		blocks, row = blocks[2:], row[16:]
		even, odd := word&lanes, word>>8&lanes
		high += even*first[0]>>48 + odd*first[1]>>48
		low += even*first[2]>>48 + odd*first[3]>>48
		sums += even + odd
		even, odd = next&lanes, next>>8&lanes
		high += even*second[0]>>48 + odd*second[1]>>48
		low += even*second[2]>>48 + odd*second[3]>>48
		sums += even + odd
	}
	if len(blocks) > 0 && len(row) >= 8 {
		word := binary.LittleEndian.Uint64(row) ^ signs
		even, odd := word&lanes, word>>8&lanes
		high += even*blocks[0][0]>>48 + odd*blocks[0][1]>>48
		low += even*blocks[0][2]>>48 + odd*blocks[0][3]>>48
		sums += even + odd
	}
	sum = int(sums&0xFFFF + sums>>16&0xFFFF + sums>>32&0xFFFF + sums>>48)
	return int(high<<6 + low), sum
}
